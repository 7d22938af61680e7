"""The answers of a child process to its parent."""

import json
import zlib

from scrubjay.workers import answer_request


def test_a_result_is_marked_as_one() -> None:
    assert answer_request(b"zlib:compress\na text\nof two lines") == b"+" + zlib.compress(b"a text\nof two lines")


def test_an_error_of_scrubjay_keeps_its_parts() -> None:
    failure = json.loads(answer_request(b"scrubjay.rpc.frames:decode_frame\nno JSON"))
    assert failure["kind"] == "InvalidInput"
    assert failure["message"]


def test_any_other_error_has_its_name_and_message() -> None:
    failure = json.loads(answer_request(b"zlib:decompress\nno zlib"))
    assert (failure["kind"], failure["hint"], failure["fields"]) == ("error", "", {})
    assert "incorrect header" in failure["message"]
