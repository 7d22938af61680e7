"""Measures what it is like to live with a memory: `python -m benchmarks.lives --data FOLDER`. See benchmarks/README.md.

An agent writes and asks through `scrubjay mcp`, day after day; a file sets the daemon's clock.
"""

import argparse
import asyncio
import json
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.daemons import SCRUBJAY, connected, daemon, environment_for, settings_for
from benchmarks.lives_data import Life, LifeQuestion, LifeWrite, load_lives, made_life
from benchmarks.recall_data import BadData
from benchmarks.tables import Table, rows_of
from scrubjay.settings import Settings

# The columns: the name of a figure, and its heading.
FIGURES = {
    "first": "first hit right",
    "top3": "in the first three",
    "outdated": "outdated above current",
    "foreign": "other project above own",
    "document": "document above user",
    "quiet": "quiet without an answer",
    "lost": "answer called weak",
    "noticed": "changes noticed",
    "false": "false conflicts per write",
    "thin_good": "facts called thin",
    "thin_scrap": "scraps called thin",
}
_BY_LANGUAGE = "first, "
_FIRST_HITS = 3
_BYTES_A_TOKEN = 4
_MAX_LINE = 1 << 24
_WORD = re.compile(r"\w+")
# Of several writes in one memory, a hit tells those whose words its passage has nearly as well as the best.
_NEARLY = 0.8


def main() -> None:
    """Live through the lives of a folder, or through a small one, and print a table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.lives", description="Measures what it is like to live with a memory."
    )
    parser.add_argument("--data", type=Path, help="folder of lives; without it, a small life is made")
    parser.add_argument("--json", type=Path, help="write the figures there too, with every question that failed")
    parser.add_argument("--no-reader", action="store_true", help="recall ranks without the reader")
    parser.add_argument("--no-pairs", action="store_true", help="writes compare statements by rules alone")
    options = parser.parse_args()
    try:
        lives = load_lives(options.data) if options.data else [made_life()]
    except BadData as error:
        raise SystemExit(f"{error}") from error
    results = asyncio.run(measure(lives, reader=not options.no_reader, pairs=not options.no_pairs))
    print("\n".join(rows_of(table_of(results))))
    if options.json is not None:
        options.json.write_text(json.dumps([result.as_json() for result in results], indent=1, ensure_ascii=False))


@dataclass(kw_only=True)
class LifeResult:
    """What a life was like: each figure as how many of how many, the tokens of the answers, and what failed."""

    name: str
    counts: dict[str, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))
    tokens: list[float] = field(default_factory=list[float])
    failures: list[str] = field(default_factory=list[str])

    def count(self, figure: str, is_so: bool, *, failure: str = "") -> None:
        """Count one case of a figure."""
        self.counts[figure][0] += is_so
        self.counts[figure][1] += 1
        if failure:
            self.failures.append(f"{figure}: {failure}")

    def share(self, figure: str) -> str:
        """Return a figure as a share."""
        part, whole = self.counts.get(figure, (0, 0))
        return f"{part / whole:.2f}" if whole else "-"

    @property
    def mean_tokens(self) -> float:
        """The mean length of the text of an answer, in tokens."""
        return sum(self.tokens) / max(1, len(self.tokens))

    def as_json(self) -> dict[str, object]:
        """Return everything for a file."""
        tokens = round(self.mean_tokens, 1)
        return {"life": self.name, "figures": self.counts, "tokens": tokens, "failures": self.failures}


def table_of(results: Sequence[LifeResult]) -> Table:
    """Return the figures of each life, and of all together, as columns."""
    total = LifeResult(name="all")
    for result in results:
        total.tokens += result.tokens
        for figure, (part, whole) in result.counts.items():
            total.counts[figure][0] += part
            total.counts[figure][1] += whole
    columns = (*results, total)
    languages = sorted(figure for figure in total.counts if figure.startswith(_BY_LANGUAGE))
    names = {**FIGURES, **{figure: f"{FIGURES['first']}, {figure.removeprefix(_BY_LANGUAGE)}" for figure in languages}}
    rows = [(name, *(result.share(figure) for result in columns)) for figure, name in names.items()]
    rows.append(("tokens of a recall", *(f"{result.mean_tokens:.0f}" for result in columns)))
    return Table(title="Lives", head=("", *(result.name for result in columns)), rows=tuple(rows))


async def measure(lives: Sequence[Life], *, reader: bool = True, pairs: bool = True) -> list[LifeResult]:
    """Live through lives one after the other, each in a space of its own."""
    with tempfile.TemporaryDirectory(prefix="scrubjay-lives-") as folder:
        clock = Path(folder) / "clock"
        clock.write_text(f"{lives[0].days[0]}T00:00:00Z")
        settings = replace(settings_for(Path(folder) / "data"), clock_file=str(clock), http="off", reader=reader)
        settings = settings if pairs else replace(settings, pair_model="off")
        async with daemon(settings):
            return [await Replay(life, settings=settings, clock=clock).run() for life in lives]


class Bridge:
    """What an agent has: `scrubjay mcp` with its name and its project."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._count = 0

    async def call(self, tool: str, **arguments: object) -> tuple[dict[str, Any], str]:
        """Call a tool; return the fields of its answer, and the text."""
        result = await self._ask("tools/call", {"name": tool, "arguments": arguments})
        text = "".join(part.get("text", "") for part in result.get("content", []))
        if result.get("isError"):
            raise SystemExit(f"{tool}: {text}")
        return result.get("structuredContent") or {}, text

    async def begin(self) -> None:
        """Shake hands."""
        client = {"name": "lives", "version": "1"}
        await self._ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
        await self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def _ask(self, method: str, params: dict[str, object]) -> dict[str, Any]:
        self._count += 1
        await self._send({"jsonrpc": "2.0", "id": self._count, "method": method, "params": params})
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            message = json.loads(line)
            if message.get("id") == self._count:
                if "result" not in message:
                    raise SystemExit(f"{method}: {message.get('error')}")
                return message["result"]
        raise SystemExit("the bridge has ended")

    async def _send(self, message: dict[str, object]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        await self._process.stdin.drain()


@asynccontextmanager
async def bridge(settings: Settings, *, space: str, agent: str, project: str) -> AsyncGenerator[Bridge]:
    """Run a bridge until the end of the block."""
    process = await asyncio.create_subprocess_exec(
        SCRUBJAY, "mcp", "--data", str(settings.data), "--space", space, "--agent", agent, "--project", project,
        "--tools", "core", env=environment_for(settings), stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL, limit=_MAX_LINE,
    )  # fmt: skip
    try:
        opened = Bridge(process)
        await opened.begin()
        yield opened
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()


class Replay:
    """One life on its way through the memory, and which memory each write became."""

    def __init__(self, life: Life, *, settings: Settings, clock: Path) -> None:
        self._life, self._settings, self._clock = life, settings, clock
        self._result = LifeResult(name=life.name)
        self._texts = {write.id: write.text for write in life.writes}
        self._writes_of: defaultdict[str, list[str]] = defaultdict(list)
        # Pairs of writes of which an answer says that they differ.
        self._hinted: set[frozenset[str]] = set()
        self._bridges: dict[tuple[str, str], Bridge] = {}

    async def run(self) -> LifeResult:
        """Write and ask, day by day: the writes of a day come first."""
        agent = "agent"
        async with AsyncExitStack() as stack:
            for day in self._life.days:
                for number, write in enumerate(write for write in self._life.writes if write.day == day):
                    agent = write.agent
                    self._set_clock(f"{day}T{9 + number // 60:02d}:{number % 60:02d}:00Z")
                    await self._write(write, await self._bridge(stack, write.agent, write.project))
                self._set_clock(f"{day}T20:00:00Z")
                for question in self._life.questions:
                    if question.day == day:
                        await self._ask(question, await self._bridge(stack, agent, question.project))
        await self._judge_conflicts()
        return self._result

    async def _bridge(self, stack: AsyncExitStack, agent: str, project: str) -> Bridge:
        if (agent, project) not in self._bridges:
            opening = bridge(self._settings, space=self._life.name, agent=agent, project=project)
            self._bridges[agent, project] = await stack.enter_async_context(opening)
        return self._bridges[agent, project]

    def _set_clock(self, moment: str) -> None:
        # The daemon must never read half a moment.
        new = self._clock.with_suffix(".new")
        new.write_text(moment)
        new.replace(self._clock)

    async def _write(self, write: LifeWrite, agent: Bridge) -> None:
        source = {"session": f"{self._life.name}-{write.session}"} if write.session else {}
        source |= {"trust": "document"} if write.is_document else {}
        arguments = {"text": write.text, "source": source, "entities": [*write.entities], "kind": write.kind}
        fields, _ = await agent.call("remember", **{name: value for name, value in arguments.items() if value})
        is_thin = "thin" in fields.get("flags", []) or fields.get("action") == "rejected"
        is_thin = is_thin or any(warning.startswith("thin") for warning in fields.get("warnings", []))
        figure = "thin_scrap" if write.is_worthless else "thin_good"
        self._result.count(figure, is_thin, failure=write.text if is_thin != write.is_worthless else "")
        for other in fields.get("similar", []):
            if other.get("differs"):
                self._hinted |= {frozenset((write.id, earlier)) for earlier in self._writes_of[other.get("id", "")]}
        if fields.get("action") != "rejected":
            memories = (fields.get("merged_into") or fields.get("id"), *fields.get("ids", []))
            for memory in dict.fromkeys(memory for memory in memories if memory):
                self._writes_of[memory].append(write.id)

    async def _ask(self, question: LifeQuestion, agent: Bridge) -> None:
        fields, text = await agent.call("recall", query=question.text)
        self._result.tokens.append(len(text.encode()) / _BYTES_A_TOKEN)
        hits: list[dict[str, Any]] = [*fields.get("pinned", []), *fields.get("hits", [])]
        answers = [self._writes_in(hit) for hit in hits]
        is_weak = [bool(fields.get("nothing_relevant")) or _is_weak(hit) for hit in hits]
        if not question.gold:
            is_quiet = all(is_weak)
            self._result.count("quiet", is_quiet, failure="" if is_quiet else question.text)
            return
        place = next((place for place, names in enumerate(answers) if names & question.right), None)
        first_three = answers[:_FIRST_HITS]
        self._result.count("first", place == 0, failure="" if place == 0 else question.text)
        if question.language:
            self._result.count(f"{_BY_LANGUAGE}{question.language}", place == 0)
        self._result.count("top3", all(any(names & part for names in first_three) for part in question.gold))
        is_lost = is_weak[place] if place is not None else bool(fields.get("nothing_relevant"))
        self._result.count("lost", is_lost, failure=question.text if is_lost else "")
        above = [names - question.right for names in answers[:place] if not names & question.right]
        stored = frozenset(name for names in self._writes_of.values() for name in names)
        for figure, others in (
            ("outdated", question.outdated if question.kind == "current" else frozenset[str]()),
            ("foreign", question.foreign & stored),
            ("document", question.documents),
        ):
            if others:
                is_above = any(names & others for names in above)
                self._result.count(figure, is_above, failure=question.text if is_above else "")

    def _writes_in(self, hit: dict[str, Any]) -> frozenset[str]:
        """Return the writes that a hit tells."""
        names = self._writes_of.get(hit.get("id", ""), [])
        if len(names) < 2:
            return frozenset(names)
        passage = _words(hit.get("passage", ""))
        shares = {name: _share(_words(self._texts[name]), passage) for name in names}
        return frozenset(name for name in names if shares[name] >= _NEARLY * max(shares.values()))

    async def _judge_conflicts(self) -> None:
        """Count changes that were noticed, and conflicts between facts that have nothing to do with each other."""
        filed: Counter[frozenset[str]] = Counter()
        changes: set[frozenset[str]] = set(self._hinted)
        async with connected(replace(self._settings, space=self._life.name)) as memory:
            conflicts = await memory.conflicts(status="all", limit=200)
        for conflict in conflicts:
            pairs = {
                frozenset((newer, older))
                for newer in self._writes_of.get(conflict.memory.id, [])
                for older in self._writes_of.get(conflict.other.id, [])
                if newer != older
            }
            filed.update(pairs)
            changes |= pairs if conflict.type.value in ("contradiction", "update") else set()
        for write in self._life.writes:
            for former in write.supersedes:
                is_noticed = any(frozenset((write.id, same)) in changes for same in self._restatements(former))
                self._result.count("noticed", is_noticed, failure="" if is_noticed else write.text)
        false = [pair for pair in filed if not self._life.belong_together(*sorted(pair))]
        self._result.counts["false"] = [len(false), len(self._life.writes)]
        self._result.failures += [f"false: {' | '.join(self._texts[name] for name in sorted(pair))}" for pair in false]

    def _restatements(self, name: str) -> Iterable[str]:
        roots = {write.id: write.duplicate_of or write.id for write in self._life.writes}
        return [other for other, root in roots.items() if root == roots.get(name, name)]


def _is_weak(hit: dict[str, Any]) -> bool:
    return hit.get("weak") is True or hit.get("relevant") is False


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))


def _share(words: frozenset[str], passage: frozenset[str]) -> float:
    return len(words & passage) / max(1, len(words))


if __name__ == "__main__":
    main()
