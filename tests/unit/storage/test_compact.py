"""The compact form holds every body exactly or none, and what earlier versions have stored stays readable."""

import base64
import hashlib
from collections.abc import Mapping
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.strategies import memories, moments, some_examples, texts, values

from scrubjay.model.memory import Json, Memory
from scrubjay.model.snapshot import from_body, to_body
from scrubjay.model.timestamps import to_iso
from scrubjay.storage.codec import (
    Encoded,
    Encoding,
    decode,
    encode,
    encode_delta,
    generic_dictionary,
    parse,
    parse_values,
    unpack,
)
from scrubjay.storage.compact import from_compact, head_bytes, is_compact, to_compact, to_json

CREATED, LATER, LAST = "2026-05-31T14:00:00.123456Z", "2026-06-01T09:30:00Z", "2026-06-02T00:00:00Z"
BODY: dict[str, Json] = {
    "content": "Sarah of Acme prefers voice calls to mail, and asks for a summary afterwards.",
    "created_at": CREATED,
    "name": "sarah-voice-calls",
    "tags": ["sarah", "calls"],
    "updated_at": CREATED,
}
# BODY as the version before this form stored it.
STORED_AS_JSON = Encoded(
    base64.b64decode(
        "KLUv/SDl7QIAhAJvZiBBY21ldm9pY21haWxhZnRlcndhcmRzMzAwOjAwLjEyMzQ1Ni19Evxipb7+1NIJf5KphVRwrEmFpumqyXccKSEzeZlj"
        "1FRTLbkmEB++ZHPCVCaLnvRSlkId"
    ),
    Encoding.ZSTD, 0, bytes.fromhex("559214d596ca92b7"), 229,
)  # fmt: skip
DICTIONARIES = {
    "generic.dict": "ed46fb9705d194b36a8a8cc3ac50f75af34e9c7e493097f26eb7d9caf4a51144",
    "prose.dict": "eef51d422b02ff15243eff0852bf020af9ee2d04c2a6d255648299cef1b8d09c",
}


def restored(body: Mapping[str, Json]) -> dict[str, Json]:
    compact = to_compact(body)
    assert compact is not None
    assert is_compact(compact)
    assert len(compact) < len(to_json(body))
    return from_compact(compact)


@given(memories)
@some_examples
def test_every_memory_comes_back(memory: Memory) -> None:
    body = to_body(memory)
    encoded = encode(body, dictionary=generic_dictionary())
    assert decode(encoded, dictionary=generic_dictionary()) == body
    assert encoded.size == len(to_json(body))
    plain = unpack(encoded, dictionary=generic_dictionary())
    read = from_body(parse(plain), memory_id="m", space="s", version=1)
    assert to_body(read) == body
    assert from_body(parse_values(plain), memory_id="m", space="s", version=1) == read


moment_texts = moments.map(to_iso) | texts
labels = texts | st.sampled_from(["a,b", "a\0b", ""])
bodies = st.fixed_dictionaries(
    {"name": labels, "created_at": moment_texts, "updated_at": moment_texts},
    optional={
        "content": labels,
        "tags": st.lists(labels, max_size=3) | values,
        "last_confirmed": moment_texts,
        "observations": values | st.lists(st.fixed_dictionaries({"text": labels, "recorded_at": moment_texts})),
        "metadata": values,
    },
)


@given(bodies)
@some_examples
def test_what_the_form_cannot_hold_has_none(body: dict[str, Json]) -> None:
    compact = to_compact(body)
    assert compact is None or from_compact(compact) == body
    assert decode(encode(body, dictionary=generic_dictionary()), dictionary=generic_dictionary()) == body


@pytest.mark.parametrize("updated", [CREATED, LATER])
@pytest.mark.parametrize("confirmed", [None, CREATED, LATER, LAST])
@pytest.mark.parametrize("tags", [None, ["one"], ["one", "two"]])
@pytest.mark.parametrize("others", [{}, {"kind": "fact"}])
def test_each_part_may_be_there_or_not(
    updated: str, confirmed: str | None, tags: list[Json] | None, others: dict[str, Json]
) -> None:
    body = {"name": "n", "content": "c", "created_at": CREATED, "updated_at": updated, **others}
    body |= ({"last_confirmed": confirmed} if confirmed else {}) | ({"tags": tags} if tags else {})
    assert restored(body) == body


def test_an_observation_is_a_list_with_its_time_since_the_memory() -> None:
    observations: list[Json] = [
        {"text": "first", "recorded_at": CREATED},
        {"text": "second", "recorded_at": LATER, "valid_until": LAST, "source": {"agent": "cli"}},
    ]
    body = BODY | {"observations": observations}
    compact = to_compact(body)
    assert compact is not None
    assert b'{"observations":[["first",0],["second",70199876544,{' in compact
    assert from_compact(compact) == body


@pytest.mark.parametrize(
    "changed",
    [
        {"created_at": "2026-05-31"},
        {"created_at": "2026-05-31T14:00:00"},
        {"created_at": "2026-05-31T16:00:00+02:00"},
        {"created_at": "1969-12-31T23:59:59Z"},
        {"updated_at": None},
        {"name": 5},
        {"content": "zero \0 byte"},
        {"content": ""},
        {"name": "zero\0byte"},
        {"tags": ["zero\0byte"]},
        {"observations": "none"},
        {"observations": [["first", 0]]},
        {"observations": [{"text": "first", "recorded_at": "1950-01-01T00:00:00Z"}]},
    ],
    ids=str,
)
def test_such_a_body_stays_json(changed: dict[str, Json]) -> None:
    body = BODY | changed
    assert to_compact(body) is None
    encoded = encode(body, dictionary=generic_dictionary())
    assert unpack(encoded, dictionary=generic_dictionary()) == to_json(body)
    assert decode(encoded, dictionary=generic_dictionary()) == body


def test_tags_with_commas_are_kept_among_the_other_fields() -> None:
    tags: list[Json] = ["one", "two, three"]
    body = BODY | {"tags": tags}
    assert restored(body) == body


def test_times_stand_before_the_compressed_text() -> None:
    compact = to_compact(BODY | {"updated_at": LATER, "last_confirmed": LAST})
    assert compact is not None
    assert head_bytes(compact) == 22
    assert generic_dictionary().compress(compact)[:22] == compact[:22]


def test_a_body_of_an_earlier_version_is_read_as_before() -> None:
    assert decode(STORED_AS_JSON, dictionary=generic_dictionary()) == BODY
    assert len(encode(BODY, dictionary=generic_dictionary()).data) < len(STORED_AS_JSON.data) * 0.7


def test_an_older_body_of_either_form_is_a_difference_from_a_newer_one_of_either_form() -> None:
    newer = BODY | {"content": str(BODY["content"]).replace("voice", "video"), "updated_at": LATER}
    for form, newer_form in ((to_json, to_compact), (to_compact, to_json), (to_compact, to_compact)):
        plain, newer_plain = form(BODY), newer_form(newer)
        assert plain is not None
        assert newer_plain is not None
        whole = Encoded(plain, Encoding.RAW, 0, hashlib.sha256(plain).digest()[:8], len(to_json(BODY)))
        delta = encode_delta(whole, plain, newer=newer_plain)
        assert delta.encoding is Encoding.DELTA
        assert unpack(delta, dictionary=generic_dictionary(), newer=newer_plain) == plain


@pytest.mark.parametrize("name", DICTIONARIES)
def test_the_dictionaries_that_bodies_were_compressed_with_never_change(name: str) -> None:
    data = files("scrubjay.storage").joinpath(name).read_bytes()
    assert hashlib.sha256(data).hexdigest() == DICTIONARIES[name]
