"""Every verb on every surface that carries it: the same requests, one after the other, get the same results."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Protocol, cast

import httpx2
import pytest
from tests.surfaces.background_daemon import background_daemon
from tests.surfaces.shell import run

from scrubjay import MemoryClient
from scrubjay.errors import ScrubjayError
from scrubjay.model.arguments import arguments_of
from scrubjay.model.caller import Access
from scrubjay.model.memory import Json
from scrubjay.model.verbs import VERBS, Verb
from scrubjay.rpc.codec import error_to_json, to_json
from scrubjay.settings import Settings
from scrubjay.surfaces.daemon.serve import RunningDaemon

_AGENT = "tester"
_Values = Mapping[str, Json]

# What the command line says of every text.
_OWN: _Values = {"source": {"trust": "user"}}
# References are names, which every run shares.
STEPS: tuple[tuple[str, _Values], ...] = (
    ("remember", {
        "text": "Sarah prefers voice calls to mail", "name": "calls", "kind": "preference", "tags": ["contact"], **_OWN,
    }),
    ("remember", {
        "text": "The office of Acme is in Bergen", "name": "office", "entities": ["Acme"], "project": "trip", **_OWN,
    }),
    ("remember", {"text": "", "name": "nothing"}),
    ("remember", {"text": "tea", "intent": "sometimes"}),
    ("remember_many", {
        "items": [{"text": "One cup", "name": "cup"}, {"colour": 1}, {"text": "One pot", "name": "pot"}],
    }),
    ("recall", {"query": "where is the office?", "limit": 3}),
    ("recall", {"kind": "preference", "detail": "full"}),
    ("recall", {"query": "cup", "limit": 0}),
    ("search_text", {"query": "office"}),
    ("read", {"ids": ["calls", "nobody-of-that-name"], "format": "json"}),
    ("read", {"ids": []}),
    ("revise", {"id": "calls", "title": "How to reach Sarah", "add_observations": ["She is in on Mondays"]}),
    ("revise", {"id": "calls", "tags": ["contact", "phone"], "expected_version": 1}),
    ("history", {"id": "calls", "limit": 5}),
    ("history", {"id": "calls", "diff": [1, 2]}),
    ("revert", {"id": "calls", "to": 1, "message": "as it was"}),
    ("commit", {"id": "office", "message": "Checked"}),
    ("branch", {"id": "office", "name": "plan", "description": "What if they move?"}),
    ("branches", {"id": "office"}),
    ("switch", {"id": "office", "name": "plan"}),
    ("revise", {"id": "office", "text": "The office of Acme is in Oslo", "branch": "plan"}),
    ("switch", {"id": "office", "name": "main"}),
    ("merge_branch", {"id": "office", "name": "plan"}),
    ("drop_branch", {"id": "office", "name": "plan"}),
    ("relate", {"source": "calls", "target": "office", "relation": "about", "strength": 0.7}),
    ("graph", {"ids": ["calls"], "depth": 2}),
    ("related", {"id": "calls"}),
    ("confirm", {"ids": ["office", "nobody-of-that-name"], "reason": "asked"}),
    ("due", {"limit": 3}),
    ("due", {"limit": 0}),
    ("summarize", {"kind": "preference", "limit": 2}),
    ("summarize", {"limit": 2}),
    ("path", {"source": "calls", "target": "office"}),
    ("unrelate", {"source": "calls", "target": "office", "relation": "about"}),
    ("forget", {"ids": ["cup"], "reason": "empty"}),
    ("forget", {"ids": ["cup"]}),
    ("restore", {"ids": ["cup"]}),
    ("forget", {"ids": ["pot"]}),
    ("purge", {"ids": ["pot"]}),
    ("undo", {}),
    ("outcome", {"runs": ["no-such-run"]}),
    ("conflicts", {"status": "all"}),
    ("probe_conflicts", {"drafts": [{"text": "The office of Acme is in Rome"}]}),
    ("scan_conflicts", {"limit": 5}),
    ("duplicates", {"limit": 5}),
    ("curate", {"jobs": ["tiers"], "dry_run": True}),
    ("curate", {"jobs": ["tiers"]}),
    ("curate", {"jobs": ["no-such-job"]}),
    ("prune", {"days": 30, "keep": 100, "dry_run": True}),
    ("prune", {"include": ["all"]}),
    ("curations", {"limit": 1}),
    ("run_code", {"code": "result = [len(search_nodes(kind)), math.sqrt(16)]", "context_vars": {"kind": "fact"}}),
    ("run_code", {"code": "x = 1\nrecall(nothing=2)"}),
    ("run_code", {"code": ""}),
    ("usage", {"days": 7, "limit": 3}),
    ("usage", {"days": 0}),
    ("health", {"days": 0}),
    (
        "save_skill",
        {"name": "count", "source": "def count(kind: str):\n    'Count.'\n    return len(search_nodes(kind))",
         "tags": ["report"], "example": {"kind": "fact"}},
    ),
    ("save_skill", {"name": "a/b", "source": "def f(): pass"}),
    ("save_skill", {"name": "f", "source": "def f():\n    'F.'\n    return 1 / 0"}),
    ("run_skill", {"name": "count", "arguments": {"kind": "fact"}}),
    ("run_skill", {"name": "count", "arguments": {"sort": "fact"}}),
    ("load_skill", {"name": "count"}),
    ("load_skill", {"name": "no-such-skill"}),
    ("list_skills", {"tags": ["report"]}),
    ("forget", {"ids": ["count"]}),
    ("scan_later", {"after": 86_400}),
    ("resolve_conflict", {"id": "no-such-conflict"}),
    ("extract", {"text": "Ann: I prefer tea.\nBen: Well.", "me": "Ann", "method": "patterns"}),
    ("context", {"max_tokens": 900}),
    ("create_entities", {"entities": [{"name": "Ada", "entityType": "person", "observations": ["Likes figures"]}]}),
    ("update_entity", {"id": "Ada", "changes": {"add_observations": ["Plays chess"]}}),
    ("search_nodes", {"query": "Ada"}),
    ("get_memory_status", {}),
    ("set_rules", {"gate": "report", "window_days": 14}),
    ("set_rules", {"gate": "sometimes"}),
    ("rules", {}),
    ("add_synonyms", {"tag": "payment", "variants": ["paying"]}),
    ("tags", {"limit": 5}),
    ("preview_tags", {"tags": ["paying", "Phone"]}),
    ("remove_synonyms", {"variants": ["paying"]}),
    ("set_rules", {"review": "agents"}),
    ("inbox", {"limit": 5}),
    ("approve", {"ids": ["calls"]}),
    ("decline", {"ids": ["calls"]}),
    ("set_rules", {"review": None}),
    ("jobs", {"limit": 5}),
    ("retry_job", {"id": "no-such-job"}),
    ("cancel_job", {"id": "no-such-job"}),
    ("write_note", {"title": "Trees", "content": "Oak and beech.", "tags": ["wood"], "category": "garden", **_OWN}),
    ("write_note", {"title": "Birds", "content": "The jay hides acorns, see [[Nothing]].", **_OWN}),
    ("read_note", {"identifier": "Trees", "format": "plain"}),
    ("edit_note", {"id": "Trees", "content": "Oak, beech and ash."}),
    ("search_notes", {"query": "ash"}),
    ("link_notes", {"source_id": "Trees", "target_id": "Birds"}),
    ("backlinks", {"id": "Birds"}),
    ("broken_links", {}),
    ("unlink_notes", {"source_id": "Trees", "target_id": "Birds"}),
    ("review_note", {"id": "Trees"}),
    ("due_notes", {"days": 0}),
    ("note_categories", {}),
    ("note_templates", {}),
    ("attach_file", {"note": "Trees", "name": "leaf.txt", "data": "bGVhZg==", "caption": "A leaf"}),
    ("note_attachments", {"note": "Trees"}),
    ("orphaned_files", {}),
    ("sync_notes", {}),
    ("current_date", {"format": "date_only"}),
    ("spaces", {}),
    ("status", {}),
    ("doctor", {}),
    ("embed_missing", {}),
    ("create_token", {"name": "laptop", "spaces": ["default"]}),
    ("tokens", {}),
    ("revoke_token", {"ref": "laptop"}),
)  # fmt: skip
# They reach files of the machine or stream lines; tests of their own compare them.
APART = {"backup", "reembed", "attach_path", "export_notes", "import_notes", "adopt_notes", "export", "import"}
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


class Surface(Protocol):
    """A way to call verbs."""

    async def call(self, verb: Verb, values: _Values) -> Json:
        """Return the result as JSON, or `{"error": code}`."""
        ...


class ThroughClient:
    """The Python client."""

    def __init__(self, client: MemoryClient) -> None:
        self._client = client

    async def call(self, verb: Verb, values: _Values) -> Json:
        try:
            return to_json(await self._client.call(verb.request.of(**values)))
        except ScrubjayError as error:
            return {"error": error_to_json(error)["code"]}


# The arguments that have shorter names in a query or a body.
_WIRE_NAMES = {
    "graph": {"ids": "id"}, "path": {"source": "from", "target": "to"}, "search_notes": {"query": "q"},
    "link_notes": {"target_id": "target"}, "unlink_notes": {"target_id": "target"},
    "remove_synonyms": {"variants": "variant"},
}  # fmt: skip


class ThroughRest:
    """The route of a verb: names in its path, and the rest as its query or its body."""

    def __init__(self, web: httpx2.AsyncClient, others: Surface) -> None:
        self._web = web
        self._others = others

    async def call(self, verb: Verb, values: _Values) -> Json:
        # An attachment is the body of its request.
        if not verb.route or verb.name == "attach_file":
            return await self._others.call(verb, values)
        (method, path), left = verb.route.split(" "), dict(values)
        for name in re.findall(r"{(\w+)}", path):
            argument = name if name in left else next(iter(left))
            path = path.replace(f"{{{name}}}", str(left.pop(argument)))
        headers = {"If-Match": f'"{left.pop("expected_version")}"'} if "expected_version" in left else {}
        if verb.name == "history" and "diff" in left:
            before, after = cast("list[int]", left.pop("diff"))
            path = path.replace("versions", "diff")
            left |= {"from": before, "to": after}
        names = _WIRE_NAMES.get(verb.name, {})
        left = {names.get(name, name): value for name, value in left.items()}
        query: dict[str, Json] = {}
        if method in ("GET", "DELETE"):
            query, left = left, {}
        elif "branch" in left and "{id}" in verb.route:
            query = {"branch": left.pop("branch")}
        if verb.name in ("remember", "remember_many"):
            query["explain"] = True
        body = None if method in ("GET", "DELETE") else left
        response = await self._web.request(
            method, f"/api/v1{path}", params=cast("Any", query), headers=headers, json=body
        )
        answer = cast("dict[str, Json]", response.json())
        return {"error": answer["code"]} if response.is_error else answer


class ThroughCommands:
    """The command of a verb, with an option for each argument."""

    def __init__(self, others: Surface) -> None:
        self._others = others

    async def call(self, verb: Verb, values: _Values) -> Json:
        if not verb.command or verb.name in _FREE_FORM:
            return await self._others.call(verb, values)
        consent = ["--yes"] if verb.effect == "destroys" else []
        words = (*verb.command.split(), *_options(verb, values), *consent, "--agent", _AGENT, "--json")
        # A command has an event loop of its own.
        result = await asyncio.to_thread(run, *words)
        if not result.out:
            # The parser of the options writes no JSON.
            return {"error": result.error()["code"] if result.err.startswith("{") else "invalid_input"}
        return result.json()


# Commands with a form of their own: a file, pairs of names and values, or options that mean several arguments.
_FREE_FORM = {
    "extract",
    "set_rules",
    "create_token",
    "remember_many",
    "history",
    "revise",
    "graph",
    "run_code",
    "save_skill",
}


def _options(verb: Verb, values: _Values) -> Iterator[str]:
    arguments = {argument.name: argument for argument in arguments_of(verb.request)}
    for name, value in values.items():
        if name == "source" and isinstance(value, dict):
            continue
        about, items = arguments[name].about, value if isinstance(value, list) else [value]
        if about.positional:
            yield from map(str, items)
        elif isinstance(value, bool):
            yield from [about.flags.split()[0] if about.flags else f"--{name.replace('_', '-')}"] if value else []
        else:
            flag = about.flags.split()[0] if about.flags else f"--{name.replace('_', '-')}"
            for item in items:
                yield from (flag, json.dumps(item) if isinstance(item, dict) else str(item))


def test_every_verb_is_called_or_has_tests_of_its_own() -> None:
    assert {name for name, _ in STEPS} | APART == set(VERBS)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[Json]:
    """The results of an engine in this process."""
    import asyncio

    home = tmp_path_factory.mktemp("local") / "data"
    settings = Settings(home=str(home), embedder="none", vector_index="scan", readers=1)

    async def call_all() -> list[Json]:
        async with MemoryClient(settings=settings, path=home, agent=_AGENT) as client:
            return await _run_steps(ThroughClient(client))

    return asyncio.run(call_all())


@pytest.mark.parametrize("surface", ["socket", "http", "rest", "commands"])
async def test_results_are_the_same_everywhere(settings: Settings, expected: list[Json], surface: str) -> None:
    with background_daemon(settings) as running:
        async with _connect(surface, settings, running) as connected:
            results = await _run_steps(connected)
    problems: list[str] = []
    for (verb, values), here, there in zip(STEPS, expected, results, strict=True):
        problem = _difference(here, there, is_volatile=verb in _VOLATILE)
        if problem:
            problems.append(f"{verb} {values}: {problem}\n  here: {here!s:.500}\n  there: {there!s:.500}")
    assert not problems, "\n".join(problems)


@asynccontextmanager
async def _connect(surface: str, settings: Settings, running: RunningDaemon) -> AsyncGenerator[Surface]:
    if surface == "http":
        async with MemoryClient(url=running.http, settings=settings, agent=_AGENT) as client:
            yield _OwnerElsewhere(ThroughClient(client), settings)
    elif surface == "rest":
        async with (
            httpx2.AsyncClient(base_url=running.http, headers={"X-Scrubjay-Agent": _AGENT}, timeout=60) as web,
            MemoryClient(settings=settings, agent=_AGENT) as client,
        ):
            yield ThroughRest(web, ThroughClient(client))
    else:
        async with MemoryClient(settings=settings, agent=_AGENT) as client:
            yield ThroughCommands(ThroughClient(client)) if surface == "commands" else ThroughClient(client)


class _OwnerElsewhere:
    """Calls the verbs of the owner, which HTTP does not carry, over the socket."""

    def __init__(self, surface: Surface, settings: Settings) -> None:
        self._surface = surface
        self._settings = settings

    async def call(self, verb: Verb, values: _Values) -> Json:
        if verb.needs is not Access.OWNER:
            return await self._surface.call(verb, values)
        async with MemoryClient(settings=self._settings, agent=_AGENT) as client:
            return await ThroughClient(client).call(verb, values)


async def _run_steps(surface: Surface) -> list[Json]:
    names: dict[str, str] = {}
    results: list[Json] = []
    for verb, values in STEPS:
        result = await surface.call(VERBS[verb], values)
        # The number of ids in a report about the store depends on its backend.
        results.append(_normalize(result, dict(names) if verb in _VOLATILE else names))
    return results


def _normalize(value: Json, ids: dict[str, str]) -> Json:
    """Return a result without what differs between two runs: ids by their order, and times."""
    if isinstance(value, dict):
        return {name: _normalize(item, ids) for name, item in value.items()}
    if isinstance(value, list):
        return [_normalize(item, ids) for item in value]
    if not isinstance(value, str):
        return value
    text = _HOME.sub("/data/", _TIME.sub("TIME", value))
    return _ID.sub(lambda match: ids.setdefault(match[0], f"#{len(ids)}"), text)


def _difference(here: Json, there: Json, *, is_volatile: bool) -> str:
    """Return where a result differs; a surface may leave out empty fields, and may wrap a list in an object."""
    if isinstance(here, list) and isinstance(there, dict):
        there = next((item for item in there.values() if isinstance(item, list)), there)
    if isinstance(here, dict) and isinstance(there, dict) and len(there) == 1 and not set(here) & set(there):
        there = next(iter(there.values()))
    if isinstance(here, dict) and isinstance(there, dict):
        shared = set(here) & set(there)
        if here and there and not shared:
            return f"fields {sorted(here)} became {sorted(there)}"
        lost = [name for name in here if name not in there and here[name] and not is_volatile]
        if lost:
            return f"lost {lost}"
        for name in sorted(shared - _VOLATILE_FIELDS):
            problem = _difference(here[name], there[name], is_volatile=is_volatile)
            if problem:
                return f"{name}: {problem}"
        return ""
    if isinstance(here, list) and isinstance(there, list):
        if len(here) != len(there) and not is_volatile:
            return f"{len(here)} items became {len(there)}"
        problems = (_difference(a, b, is_volatile=is_volatile) for a, b in zip(here, there, strict=False))
        return next(filter(None, problems), "")
    if is_volatile and type(here) is type(there):
        return ""
    return "" if here == there else f"{here!r:.200} became {there!r:.200}"
