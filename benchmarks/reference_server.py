"""What the reference knowledge-graph server takes for the same work, to compare with."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.figures import Reference
from benchmarks.npm_server import VERSION, Program, Server, Unavailable, session
from benchmarks.timing import Spread, spread

# One call may carry many entities: so it is filled, since one by one would take the square of the size.
_PORTION = 500


async def measure(
    program: Program, sentences: Sequence[str], questions: Sequence[str], *, file: Path, operations: int, seconds: float
) -> Reference:
    """Fill the server with all but the last sentences, then time those and the questions, one by one."""
    filled, timed = sentences[:-operations], sentences[-operations:]
    async with session(program, file=file) as server:
        for start in range(0, len(filled), _PORTION):
            batch = [_entity(item, number) for number, item in enumerate(filled[start : start + _PORTION], start=start)]
            await _done(server, "create_entities", {"entities": batch})
        entities = [_entity(sentence, number) for number, sentence in enumerate(timed, start=len(filled))]
        create = await _timed(
            server, "create_entities", [{"entities": [entity]} for entity in entities], seconds=seconds
        )
        words = [{"query": max(question.strip("?").split(), key=len)} for question in questions[:operations]]
        search = await _timed(server, "search_nodes", words, seconds=seconds)
    return Reference(version=VERSION, create=create, search=search)


async def _timed(server: Server, tool: str, calls: Sequence[Mapping[str, object]], *, seconds: float) -> Spread:
    """How long calls take one by one, as many of them as there is time for."""
    durations: list[float] = []
    until = time.perf_counter() + seconds
    for arguments in calls:
        began = time.perf_counter()
        await _done(server, tool, arguments)
        durations.append(time.perf_counter() - began)
        if time.perf_counter() > until:
            break
    return spread(durations)


async def _done(server: Server, tool: str, arguments: Mapping[str, object]) -> None:
    result = await server.call(tool, arguments)
    if result.get("isError"):
        raise Unavailable(f"{tool} failed: {str(result.get('content'))[:200]}")


def _entity(sentence: str, number: int) -> dict[str, object]:
    return {"name": f"memory-{number}", "entityType": "fact", "observations": [sentence]}
