"""The ways to call a verb: each takes its arguments in the form of a surface, and returns its result as JSON."""

import asyncio
import base64
import json
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

import httpx2
from tests.surfaces.shell import CommandResult, run
from tests.surfaces.verb_steps import Values

from scrubjay import MemoryClient, SyncMemoryClient
from scrubjay.errors import ScrubjayError
from scrubjay.model.arguments import arguments_of
from scrubjay.model.memory import Json
from scrubjay.model.verbs import Verb
from scrubjay.rpc.codec import error_to_json, to_json

AGENT = "tester"


class Surface(Protocol):
    """A way to call verbs."""

    async def call(self, verb: Verb, values: Values) -> Json:
        """Return the result as JSON, or `{"error": code}`."""
        ...


class ThroughClient:
    """The Python client."""

    def __init__(self, client: MemoryClient) -> None:
        self._client = client

    async def call(self, verb: Verb, values: Values) -> Json:
        try:
            return to_json(await self._client.call(verb.request.of(**values)))
        except ScrubjayError as error:
            return {"error": error_to_json(error)["code"]}


class ThroughSyncClient:
    """The method of a verb of the synchronous client, with an argument of the method for each of the verb."""

    def __init__(self, client: SyncMemoryClient) -> None:
        self._client = client

    async def call(self, verb: Verb, values: Values) -> Json:
        method: Callable[..., object] = getattr(self._client, verb.name)
        try:
            # It waits in the thread that calls it.
            return to_json(await asyncio.to_thread(method, **values))
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

    def __init__(self, web: httpx2.AsyncClient) -> None:
        self._web = web

    async def call(self, verb: Verb, values: Values) -> Json:
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
        content: bytes | None = None
        if verb.name == "attach_file":
            # The body is the file.
            content = base64.b64decode(str(left.pop("data")))
        if method in ("GET", "DELETE") or content is not None:
            query, left = left, {}
        elif "branch" in left and "{id}" in verb.route:
            query = {"branch": left.pop("branch")}
        if verb.name in ("remember", "remember_many"):
            query["explain"] = True
        body = None if method in ("GET", "DELETE") or content is not None else left
        response = await self._web.request(
            method, f"/api/v1{path}", params=cast("Any", query), headers=headers, json=body, content=content
        )
        answer = cast("dict[str, Json]", response.json())
        return {"error": answer["code"]} if response.is_error else answer


class ThroughCommands:
    """The command of a verb, with an option for each argument."""

    async def call(self, verb: Verb, values: Values) -> Json:
        # A command has an event loop of its own.
        return await asyncio.to_thread(_call_command, verb, values)


def _call_command(verb: Verb, values: Values) -> Json:
    if verb.name == "remember_many":
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "texts.jsonl")
            file.write_text("".join(f"{json.dumps(item)}\n" for item in cast("list[Json]", values["items"])))
            return _output_of(run("import", str(file), *_END))
    stdin, rest = None, dict(values)
    words = verb.command.split()
    if verb.name in _FROM_STDIN:
        argument, words_for_it = _FROM_STDIN[verb.name]
        stdin = str(rest.pop(argument))
        words += words_for_it
    consent = ["--yes"] if verb.effect == "destroys" else []
    options = _FORMS[verb.name](rest) if verb.name in _FORMS else [*_options(verb, rest)]
    if verb.name == "set_rules" and None in rest.values():
        words = ["rules", "reset"]
    return _output_of(run(*words, *options, *consent, *_END, stdin=stdin))


def imported(result: Mapping[str, Json]) -> Json:
    """Return what `import` shows of a result of `remember_many`: a count of each action, and the lines that failed."""
    actions: Counter[str] = Counter()
    failed: list[Json] = []
    for item in cast("list[dict[str, dict[str, Json]]]", result["items"]):
        if error := item.get("error"):
            message = f"{error['message']}. {error['hint']}" if error.get("hint") else error["message"]
            failed.append({"line": cast("int", item["index"]) + 1, "message": message, "field": error.get("field", "")})
        else:
            actions[str(item["result"]["action"])] += 1
    return {"lines": actions.total() + len(failed), "counts": dict(actions), "failed": failed}


def _output_of(result: CommandResult) -> Json:
    if not result.out:
        # The parser of the options writes no JSON.
        return {"error": result.error()["code"] if result.err.startswith("{") else "invalid_input"}
    return result.json()


_END = ("--agent", AGENT, "--json")
# The text that a command reads from standard input, and the words that ask for that.
_FROM_STDIN = {
    "extract": ("text", ["-"]), "run_code": ("code", ["-"]), "save_skill": ("source", ["--file", "-"]),
}  # fmt: skip


def _history_words(values: Values) -> list[str]:
    diff = [str(version) for version in cast("list[Json]", values.get("diff", []))]
    rest = [word for name, value in values.items() if name not in ("id", "diff") for word in (f"--{name}", str(value))]
    return [str(values["id"]), *(["--diff", *diff] if diff else []), *rest]


def _rule_words(values: Values) -> list[str]:
    return [name if value is None else f"{name}={value}" for name, value in values.items()]


def _token_words(values: Values) -> list[str]:
    return ["--name", str(values["name"]), "--spaces", ",".join(cast("list[str]", values["spaces"]))]


# Commands whose options are not those of the arguments: two versions after one option, pairs of names and values, and
# a list in one word.
_FORMS: Mapping[str, Callable[[Values], Sequence[str]]] = {
    "history": _history_words,
    "set_rules": _rule_words,
    "create_token": _token_words,
}


def _options(verb: Verb, values: Values) -> Iterator[str]:
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
