"""Bodies are never lost: small and incompressible ones stay raw, and all are checked when they are read."""

import random
from dataclasses import replace

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.strategies import some_examples, texts, values

from scrubjay.errors import BodyDamaged
from scrubjay.model.memory import Json
from scrubjay.storage.codec import (
    Dictionary,
    Encoded,
    Encoding,
    decode,
    encode,
    encode_delta,
    generic_dictionary,
    pack,
    train,
    unpack,
)

PROSE: dict[str, Json] = {"content": "Sarah of Acme prefers voice calls to mail. " * 5, "name": "sarah-voice-calls"}


class FailingDictionary(Dictionary):
    """A dictionary whose compression fails."""

    def compress(self, plain: bytes) -> bytes:
        raise zstandard.ZstdError("no memory for " + str(len(plain)))


def packed(body: dict[str, Json]) -> Encoded:
    return encode(body, dictionary=generic_dictionary())


@given(st.dictionaries(texts, values, max_size=6))
@some_examples
def test_every_body_comes_back(body: dict[str, Json]) -> None:
    encoded = packed(body)
    assert decode(encoded, dictionary=generic_dictionary()) == body
    assert len(encoded.data) <= encoded.size


def test_a_small_body_is_raw_json() -> None:
    encoded = packed({"b": "tea", "a": 1})
    assert (encoded.encoding, encoded.dictionary) == (Encoding.RAW, 0)
    assert encoded.data == b'{"a":1,"b":"tea"}'


def test_prose_is_compressed_and_knows_its_size() -> None:
    encoded = packed(PROSE)
    assert encoded.encoding is Encoding.ZSTD
    assert len(encoded.data) < encoded.size / 2


def test_a_body_that_does_not_shrink_is_raw() -> None:
    drawn = random.Random(7)  # noise must be the same in every run
    noise = "".join(chr(drawn.randrange(0x100, 0x17F)) + chr(drawn.randrange(33, 126)) for _ in range(40))
    encoded = packed({"": noise})
    assert encoded.size > 100
    assert encoded.encoding is Encoding.RAW
    assert decode(encoded, dictionary=generic_dictionary()) == {"": noise}


def test_a_body_that_cannot_be_compressed_is_kept_and_flagged() -> None:
    encoded = encode(PROSE, dictionary=FailingDictionary(3, generic_dictionary().data))
    assert (encoded.encoding, encoded.dictionary) == (Encoding.FLAGGED, 0)
    assert decode(encoded, dictionary=generic_dictionary()) == PROSE


def test_lone_surrogates_survive() -> None:
    body: dict[str, Json] = {"content": "a\ud800" * 80}
    assert decode(packed(body), dictionary=generic_dictionary()) == body


def test_a_flipped_byte_is_noticed() -> None:
    for encoded in (packed(PROSE), packed({"small": 1})):
        for at in range(0, len(encoded.data), 7):
            data = bytearray(encoded.data)
            data[at] ^= 0x10
            with pytest.raises(BodyDamaged):
                decode(replace(encoded, data=bytes(data)), dictionary=generic_dictionary())


def test_a_size_beyond_all_memory_is_noticed() -> None:
    encoded = packed({**PROSE, "created_at": "2026-01-02T03:04:05Z", "updated_at": "2026-01-02T03:04:05Z"})
    # A frame of one segment whose head has a content size of eight bytes.
    frame = b"\xe0" + (1 << 60).to_bytes(8, "little") + encoded.data[-20:]
    with pytest.raises(BodyDamaged, match="decompressed"):
        decode(replace(encoded, data=encoded.data[:7] + frame), dictionary=generic_dictionary())


def test_a_body_cut_short_is_noticed() -> None:
    encoded = packed(PROSE)
    with pytest.raises(BodyDamaged):
        decode(replace(encoded, data=encoded.data[:-3]), dictionary=generic_dictionary())


def test_the_wrong_dictionary_is_noticed() -> None:
    encoded = packed({"content": "prefers " * 40})
    other = train(samples(), number=9)
    assert other is not None
    with pytest.raises(BodyDamaged):
        decode(encoded, dictionary=other)


def samples() -> list[bytes]:
    return [
        f'{{"content":"deploy {number} of the billing service to region {number % 7}"}}'.encode()
        for number in range(300)
    ]


def test_a_dictionary_of_the_same_sort_of_bodies_makes_them_smaller() -> None:
    own = train(samples(), number=5)
    assert own is not None
    body: dict[str, Json] = {"content": "deploy 777 of the billing service to region 4 " + "and then to region 5 " * 4}
    encoded = encode(body, dictionary=own)
    assert encoded.dictionary == 5
    assert len(encoded.data) < len(packed(body).data)
    assert decode(encoded, dictionary=own) == body


@pytest.mark.parametrize("few", [[], [b"one"], [b"same"] * 50])
def test_too_few_samples_give_no_dictionary(few: list[bytes]) -> None:
    assert train(few, number=1) is None


def test_the_generic_dictionary_helps_the_first_memory() -> None:
    alone = zstandard.ZstdCompressor(level=12).compress(packed_plain())
    assert len(packed(PROSE).data) < len(alone)


def packed_plain() -> bytes:
    return encode(PROSE, dictionary=FailingDictionary(1, generic_dictionary().data)).data


OLDER = b'{"content":"' + b"Sarah of Acme prefers voice calls to mail, and tea to coffee. " * 3 + b'"}'
NEWER = OLDER.replace(b"mail", b"letters").replace(b"tea", b"water", 1)


def test_a_difference_is_small_and_gives_the_older_body_back() -> None:
    whole = pack(OLDER, dictionary=generic_dictionary())
    reported = encode_delta(whole, OLDER, newer=NEWER)
    assert (reported.encoding, reported.dictionary, reported.sha256, reported.size) == (
        Encoding.DELTA, 0, whole.sha256, len(OLDER),
    )  # fmt: skip
    assert len(reported.data) < 45
    assert unpack(reported, dictionary=generic_dictionary(), newer=NEWER) == OLDER


def test_a_difference_that_saves_nothing_is_none() -> None:
    for plain, newer in ((b"{}", NEWER), (b"", b""), (OLDER, b"")):
        whole = pack(plain, dictionary=generic_dictionary())
        assert encode_delta(whole, plain, newer=newer) is whole


def test_a_large_body_may_be_a_difference() -> None:
    drawn = random.Random(7)
    older = bytes(drawn.randrange(32, 127) for _ in range(200_000))
    whole = pack(older, dictionary=generic_dictionary())
    newer = older[:5000] + b"something else" + older[5000:]
    reported = encode_delta(whole, older, newer=newer)
    assert len(reported.data) < 200
    assert unpack(reported, dictionary=generic_dictionary(), newer=newer) == older


def test_a_difference_from_another_body_is_noticed() -> None:
    reported = encode_delta(pack(OLDER, dictionary=generic_dictionary()), OLDER, newer=NEWER)
    for newer in (b"", b"x" * len(NEWER), NEWER[:-40], NEWER.replace(b"Acme", b"ACME")):
        with pytest.raises(BodyDamaged):
            unpack(reported, dictionary=generic_dictionary(), newer=newer)
    for at in range(len(reported.data)):
        data = bytearray(reported.data)
        data[at] ^= 0x10
        damaged = replace(reported, data=bytes(data))
        try:
            assert unpack(damaged, dictionary=generic_dictionary(), newer=NEWER) == OLDER
        except BodyDamaged:
            continue
