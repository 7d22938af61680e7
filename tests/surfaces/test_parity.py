"""Every verb on every surface that carries it: the same requests, one after the other, get the same results."""

import asyncio
import re
from collections.abc import AsyncGenerator, Container, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from mcp.client.client import Client
from mcp_types import Implementation
from tests.contract.test_verbs import WITHOUT_COMMAND
from tests.patience import PATIENCE
from tests.surfaces.background_daemon import background_daemon
from tests.surfaces.verb_steps import APART, STEPS, Values
from tests.surfaces.verb_surfaces import (
    AGENT,
    Surface,
    ThroughClient,
    ThroughCommands,
    ThroughRest,
    ThroughSyncClient,
    imported,
)
from tests.surfaces.verb_tools import SHOWN_BY_CORE, ThroughCore, said_by_agent

from scrubjay import MemoryClient, SyncMemoryClient
from scrubjay.model.caller import Access
from scrubjay.model.memory import Json
from scrubjay.model.verbs import VERBS
from scrubjay.settings import Settings
from scrubjay.surfaces.daemon.serve import RunningDaemon

_AGENTS = "it has the form of a tool of agents"
_OF_OWNER: dict[str, str] = dict.fromkeys(
    (
        "create_token", "tokens", "revoke_token", "backup", "reembed", "attach_path", "export_notes", "import_notes",
        "adopt_notes",
    ),
    "HTTP carries no verb of the owner",
)  # fmt: skip
_WITHOUT_ROUTE = {
    **_OF_OWNER,
    "search_text": "`GET /search` searches by words too, and `GET /notes/search` by words alone",
    "outcome": "clients ask it by themselves after a lost answer",
    "probe_conflicts": "`POST /memories` with `dry_run` shows the conflicts of a text",
    "duplicates": f"{_AGENTS}; `POST /curations` finds duplicates",
    "create_entities": f"{_AGENTS}; `POST /memories` files a text under an entity",
    "update_entity": f"{_AGENTS}; `PATCH /memories/{{id}}` changes a memory",
    "search_nodes": f"{_AGENTS}; `POST /search` finds memories",
    "get_memory_status": f"{_AGENTS}; `GET /status` tells it",
    "spaces": "it concerns the whole store",
    "doctor": "it concerns the whole store",
    "embed_missing": "it concerns the whole store",
}
_WITHOUT_TOOL = {
    **_OF_OWNER,
    **dict.fromkeys(
        (
            "confirm", "related", "due", "summarize", "usage", "health", "curate", "curations", "prune", "duplicates",
            "run_code", "save_skill", "list_skills", "run_skill", "extract", "conflicts", "resolve_conflict", "context",
            "commit", "undo", "branch", "branches", "switch", "merge_branch", "drop_branch", "create_entities",
            "update_entity", "search_nodes", "get_memory_status", "write_note", "read_note", "edit_note",
            "search_notes", "link_notes", "unlink_notes", "current_date",
        ),
        "a tool of another toolset has it, in a form of its own",
    ),
    **dict.fromkeys(
        (
            "search_text", "outcome", "graph", "path", "probe_conflicts", "rules", "tags", "preview_tags", "inbox",
            "jobs", "load_skill", "status", "spaces", "export", "due_notes", "backlinks", "broken_links",
            "note_categories", "note_templates", "note_attachments", "orphaned_files", "review_note", "attach_file",
        ),
        "it is for people and programs: the listing of tools has few tokens",
    ),
    **dict.fromkeys(
        (
            "purge", "scan_conflicts", "scan_later", "set_rules", "add_synonyms", "remove_synonyms", "approve",
            "decline", "retry_job", "cancel_job", "doctor", "embed_missing", "import", "sync_notes",
        ),
        "an agent may not do it",
    ),
}  # fmt: skip
# The verbs that a surface does not carry, and why. The client calls them in their turn, and nothing is compared.
_WITHOUT: Mapping[str, Mapping[str, str]] = {
    "socket": {},
    "sync": {},
    "http": _OF_OWNER,
    "rest": _WITHOUT_ROUTE,
    # It is the form of `import` for a file of texts.
    "commands": {name: why for name, why in WITHOUT_COMMAND.items() if name != "remember_many"},
    "mcp": _WITHOUT_TOOL,
}
# A command shows one of the two tables; the others have numbers of the process and of the disk.
_PARTIAL = {"tags", "add_synonyms", "remove_synonyms"}
_VOLATILE = _PARTIAL | {
    "status",
    "doctor",
    "get_memory_status",
    "create_token",
    "note_templates",
    "sync_notes",
    "context",
}
_ID = re.compile(
    r"c-[0-9a-f]{16}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}|[0-9a-z]{26}"
)
# The texts of ids differ in their number of tokens and in how well they are compressed.
_VOLATILE_FIELDS = {"tokens", "compression", "timestamp", "execution_time_ms", "memory_used_mb", "mean_ms"}
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|\+00:00)?")
_HOME = re.compile(r"/[^\s\"']*?/data\w*/")


def test_every_verb_is_called_or_has_tests_of_its_own() -> None:
    assert {name for name, _ in STEPS} | APART == set(VERBS)


def test_the_tables_have_the_verbs_that_a_surface_does_not_carry() -> None:
    verbs = VERBS.values()
    assert {surface: set(table) for surface, table in _WITHOUT.items()} == {
        "socket": set(),
        "sync": set(),
        "http": {verb.name for verb in verbs if verb.needs is Access.OWNER},
        "rest": {verb.name for verb in verbs if not verb.route},
        "commands": {verb.name for verb in verbs if not verb.command} - {"remember_many"},
        "mcp": {verb.name for verb in verbs if not any(tool.startswith("core.") for tool in verb.tools)},
    }


@pytest.fixture(scope="module")
def of_user(tmp_path_factory: pytest.TempPathFactory) -> list[Json]:
    """The results of an engine in this process, with the texts of a user."""
    return asyncio.run(_call_here(STEPS, tmp_path_factory.mktemp("local") / "data"))


@pytest.fixture(scope="module")
def of_agent(tmp_path_factory: pytest.TempPathFactory) -> list[Json]:
    """The same with the texts of an agent."""
    steps = [(verb, said_by_agent(verb, values)) for verb, values in STEPS]
    return asyncio.run(_call_here(steps, tmp_path_factory.mktemp("local") / "data"))


@pytest.fixture
def expected(surface: str, request: pytest.FixtureRequest) -> list[Json]:
    """What the client returns for each step."""
    return request.getfixturevalue("of_agent" if surface == "mcp" else "of_user")


@pytest.mark.parametrize("surface", [*_WITHOUT])
async def test_results_are_the_same_everywhere(settings: Settings, expected: list[Json], surface: str) -> None:
    with background_daemon(settings) as running:
        async with (
            MemoryClient(settings=settings, agent=AGENT) as client,
            _connect(surface, settings, running) as connected,
        ):
            results = await _run_steps(connected, STEPS, without=_WITHOUT[surface], others=ThroughClient(client))
    comparison = _Comparison()
    problems: list[str] = []
    for (verb, values), whole, there in zip(STEPS, expected, results, strict=True):
        if verb in _WITHOUT[surface]:
            continue
        here = _shown(surface, verb, whole)
        problem = comparison.difference(here, there, is_volatile=verb in _VOLATILE)
        if problem:
            problems.append(f"{verb} {values}: {problem}\n  here: {here!s:.500}\n  there: {there!s:.500}")
    assert not problems, "\n".join(problems)


async def _call_here(steps: Sequence[tuple[str, Values]], home: Path) -> list[Json]:
    settings = Settings(home=str(home), embedder="none", vector_index="scan", readers=1)
    async with MemoryClient(settings=settings, path=home, agent=AGENT) as client:
        surface = ThroughClient(client)
        return await _run_steps(surface, steps, without=(), others=surface)


@asynccontextmanager
async def _connect(surface: str, settings: Settings, running: RunningDaemon) -> AsyncGenerator[Surface]:
    if surface == "sync":
        with SyncMemoryClient(settings=settings, agent=AGENT) as sync:
            yield ThroughSyncClient(sync)
    elif surface == "rest":
        headers = {"X-Scrubjay-Agent": AGENT}
        async with httpx2.AsyncClient(base_url=running.http, headers=headers, timeout=PATIENCE) as web:
            yield ThroughRest(web)
    elif surface == "commands":
        yield ThroughCommands()
    elif surface == "mcp":
        program = Implementation(name=AGENT, version="0")
        async with Client(f"{running.http}/mcp/core", client_info=program, read_timeout_seconds=PATIENCE) as agent:
            yield ThroughCore(agent)
    else:
        url = running.http if surface == "http" else ""
        async with MemoryClient(url=url, settings=settings, agent=AGENT) as client:
            yield ThroughClient(client)


async def _run_steps(
    surface: Surface, steps: Sequence[tuple[str, Values]], *, without: Container[str], others: Surface
) -> list[Json]:
    """Call each verb by the surface, or if it does not carry it by another one: later steps build on it."""
    called = [(others if verb in without else surface, VERBS[verb], values) for verb, values in steps]
    return [_normalize(await by.call(verb, values)) for by, verb, values in called]


def _shown(surface: str, verb: str, result: Json) -> Json:
    """Return what a surface shows of a result."""
    if not isinstance(result, dict) or "error" in result:
        return result
    if surface == "commands" and verb == "remember_many":
        return imported(result)
    return SHOWN_BY_CORE[verb](result) if surface == "mcp" else result


def _normalize(value: Json) -> Json:
    """Return a result without times and places, which differ between two runs."""
    if isinstance(value, dict):
        return {name: _normalize(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_normalize(item) for item in value]
    return _HOME.sub("/data/", _TIME.sub("TIME", value)) if isinstance(value, str) else value


class _Comparison:
    """Compares the results of two runs, in which each id of one stands for one of the other."""

    def __init__(self) -> None:
        self._there: dict[str, str] = {}
        self._here: dict[str, str] = {}

    def difference(self, here: Json, there: Json, *, is_volatile: bool) -> str:
        """Return where a result differs; a surface may leave out empty fields, and may wrap a list in an object."""
        if isinstance(here, list) and isinstance(there, dict):
            there = next((item for item in there.values() if isinstance(item, list)), there)
        if isinstance(here, dict) and isinstance(there, dict) and len(there) == 1 and not set(here) & set(there):
            there = next(iter(there.values()))
        if isinstance(here, dict) and isinstance(there, dict):
            return self._between_objects(here, there, is_volatile=is_volatile)
        if isinstance(here, list) and isinstance(there, list):
            if len(here) != len(there) and not is_volatile:
                return f"{len(here)} items became {len(there)}"
            problems = (self.difference(a, b, is_volatile=is_volatile) for a, b in zip(here, there, strict=False))
            return next(filter(None, problems), "")
        if is_volatile and type(here) is type(there):
            return ""
        return "" if self._are_equal(here, there) else f"{here!r:.200} became {there!r:.200}"

    def _between_objects(self, here: Mapping[str, Json], there: Mapping[str, Json], *, is_volatile: bool) -> str:
        shared = set(here) & set(there)
        if here and there and not shared:
            return f"fields {sorted(here)} became {sorted(there)}"
        lost = [name for name in here if name not in there and here[name] and not is_volatile]
        if lost:
            return f"lost {lost}"
        for name in sorted(shared - _VOLATILE_FIELDS):
            if problem := self.difference(here[name], there[name], is_volatile=is_volatile):
                return f"{name}: {problem}"
        return ""

    def _are_equal(self, here: Json, there: Json) -> bool:
        if not isinstance(here, str) or not isinstance(there, str):
            return here == there
        ids, others = _ID.findall(here), _ID.findall(there)
        return _ID.split(here) == _ID.split(there) and all(map(self._is_same_id, ids, others))

    def _is_same_id(self, here: str, there: str) -> bool:
        return self._there.setdefault(here, there) == there and self._here.setdefault(there, here) == here
