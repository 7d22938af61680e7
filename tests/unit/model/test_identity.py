"""Ids are UUIDv7: unique, and in order of creation."""

import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from scrubjay.model import identity
from scrubjay.model.identity import is_id, new_id


def test_an_id_is_a_uuid_of_version_7() -> None:
    new = uuid.UUID(new_id())
    assert (new.version, new.variant) == (7, uuid.RFC_4122)


def test_an_id_contains_its_creation_time() -> None:
    before = time.time_ns() // 1_000_000
    millisecond = uuid.UUID(new_id()).int >> 80
    # Ids made in a burst run a little ahead of the clock, never behind it.
    assert before <= millisecond <= before + 60_000


def test_ids_sort_in_the_order_they_were_made() -> None:
    made = [new_id() for _ in range(2000)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)


def test_ids_of_many_threads_are_unique() -> None:
    with ThreadPoolExecutor(8) as pool:
        batches = list(pool.map(_new_ids, [500] * 8))
    made = [id_ for batch in batches for id_ in batch]
    assert len(set(made)) == len(made)
    assert all(batch == sorted(batch) for batch in batches)


def test_a_clock_that_steps_back_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    first = new_id()
    monkeypatch.setattr(time, "time_ns", lambda: 1_000_000_000_000)
    after = [new_id() for _ in range(50)]
    assert [first, *after] == sorted({first, *after})
    assert all(uuid.UUID(id_).version == 7 for id_ in after)


def test_a_used_up_tail_moves_on_to_the_next_millisecond(monkeypatch: pytest.MonkeyPatch) -> None:
    full = (time.time_ns() // 1_000_000 + 5000) << 80 | 0x7 << 76 | 0xFFF << 64 | 0b10 << 62 | (1 << 62) - 1
    monkeypatch.setattr(identity, "_last", full)
    following = uuid.UUID(new_id())
    assert following.int > full
    assert following.int >> 80 == (full >> 80) + 1
    assert (following.version, following.variant) == (7, uuid.RFC_4122)


@pytest.mark.parametrize("text", ["", "note", "1234", "0" * 31, "{" + "0" * 32 + "}", "urn:uuid:" + "0" * 32, "0" * 32])
def test_a_text_without_the_form_of_an_id_is_no_id(text: str) -> None:
    assert not is_id(text)


def test_an_id_is_known_in_either_case() -> None:
    made = new_id()
    assert is_id(made)
    assert is_id(made.upper())


def _new_ids(count: int) -> list[str]:
    return [new_id() for _ in range(count)]
