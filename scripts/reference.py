"""Writes docs/reference from the code, and the promises of SECURITY.md from tests/attacks.

With --check it only reports whether the pages are up to date.
"""

import ast
import dataclasses
import inspect
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import cast, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from scripts.client import STREAMED, parameter_of, parameters_of, render_type, wrap
from scripts.completion_table import completion_table
from scripts.help_table import help_table
from scrubjay import MemoryClient, errors
from scrubjay.model.arguments import Argument, arguments_of, result_of
from scrubjay.model.caller import Access
from scrubjay.model.descriptions import describe_field
from scrubjay.model.memory import Json
from scrubjay.model.verbs import VERBS, Verb
from scrubjay.settings import Settings
from scrubjay.surfaces.cli.completion import TABLE
from scrubjay.surfaces.cli.help import PAGES
from scrubjay.surfaces.cli.main import app
from scrubjay.surfaces.mcp.tool import Tool
from scrubjay.surfaces.mcp.toolsets import TOOLSETS
from scrubjay.surfaces.rest.app import make_bare_app
from scrubjay.surfaces.rest.openapi import describe_app

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "reference"
SECURITY = ROOT / "SECURITY.md"
ATTACKS = ROOT / "tests" / "attacks"
_PROMISES = "<!-- Written by `make docs` from the docstrings of tests/attacks: change those. -->"
_GENERATED = "<!-- Written by `make docs` from the code. Change the code, not this page. -->"
_Parts = dict[str, dict[str, Json]]
_BRANCH = re.compile(r"^[│├└─ ]*(?P<name>[A-Z]\w+)(?: {2,}(?P<meaning>.+))?$", re.MULTILINE)


def main() -> int:
    """Write the pages, or with --check name those that are out of date."""
    pages = {
        FOLDER / "settings.md": settings_page(),
        FOLDER / "commands.md": commands_page(),
        FOLDER / "python.md": python_page(),
        FOLDER / "errors.md": errors_page(),
        FOLDER / "tools.md": tools_page(),
        FOLDER / "rest.md": rest_page(),
        PAGES: help_table(),
        TABLE: completion_table(),
        SECURITY: _read(SECURITY).partition(_PROMISES)[0] + f"{_PROMISES}\n\n{promises()}\n",
    }
    if "--check" in sys.argv[1:]:
        stale = [path for path, text in pages.items() if _read(path) != text]
        for path in stale:
            print(f"{path.relative_to(ROOT)} is out of date: run make docs")
        return 1 if stale else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path, text in pages.items():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT))
    return 0


def promises() -> str:
    """Return the promises of `SECURITY.md`, each beside its test: the docstrings of the tests, a heading a file."""
    sections: list[str] = []
    for path in sorted(ATTACKS.glob("test_*.py")):
        module = ast.parse(_read(path))
        tests = [
            node
            for node in ast.walk(module)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
        ]
        rows = [(_docstring(test, path), f"`{test.name}`") for test in tests]
        place = f"[{path.name}]({path.relative_to(ROOT).as_posix()})"
        sections.append(f"### {_docstring(module, path)}\n\n{_table(('promise', f'test in {place}'), rows)}")
    return "\n\n".join(sections)


def _docstring(node: ast.Module | ast.FunctionDef | ast.AsyncFunctionDef, path: Path) -> str:
    """Return the first line of a docstring, which in tests/attacks states a promise."""
    text = (ast.get_docstring(node) or "").partition("\n")[0].rstrip(".")
    if not text:
        name = "the module" if isinstance(node, ast.Module) else node.name
        raise SystemExit(f"{path.relative_to(ROOT)}: {name} needs a docstring that says what is promised")
    return text


def settings_page() -> str:
    """Return the page of every setting with its variable."""
    rows = [
        (f"`{field.name}`", f"`{field.metadata['env']}`", _default(field), str(field.metadata["doc"]))
        for field in dataclasses.fields(Settings)
    ]
    return _page(
        "Settings",
        "Each setting has a default that works; a variable in the environment changes it, and a command's option of the"
        " same meaning wins over the variable.",
        _table(("setting", "variable", "default", "meaning"), rows),
    )


def commands_page() -> str:
    """Return the page of every command with its arguments and options."""
    root = typer.main.get_command(app)
    if not isinstance(root, TyperCommand | TyperGroup):
        raise TypeError(type(root))
    return _page("Commands", _help(root.help), "\n\n".join(_commands(root, path="scrubjay")))


def tools_page() -> str:
    """Return the page of every MCP tool by toolset, with its arguments."""
    sections = [f"## {name}\n\n" + "\n\n".join(map(_tool, tools)) for name, tools in TOOLSETS.items()]
    return _page(
        "Tools",
        "The tools of the MCP server. It serves `core` unless you choose others: `scrubjay mcp --tools core,kg`, or "
        "`/mcp/kg` over HTTP.",
        "\n\n".join(sections),
    )


def rest_page() -> str:
    """Return the page of every REST operation, and of the fields of bodies and answers."""
    description = describe_app(make_bare_app())
    operations: dict[str, list[str]] = {}
    for path, methods in cast("_Parts", description["paths"]).items():
        for method, operation in cast("_Parts", methods).items():
            (tag,) = cast("list[str]", operation["tags"])
            operations.setdefault(tag, []).append(_operation(f"{method.upper()} {path}", operation))
    tags = [cast("dict[str, str]", tag) for tag in cast("list[Json]", description["tags"])]
    sections = [f"## {tag['name']}\n\n{tag['description']}\n\n" + "\n\n".join(operations[tag["name"]]) for tag in tags]
    schemas = cast("_Parts", cast("_Parts", description["components"])["schemas"])
    kinds = [_schema(name, schema) for name, schema in schemas.items() if "properties" in schema]
    return _page(
        "REST",
        "The operations under `/api/v1`, as `/openapi.json` describes them. [The how-to](../how-to/rest.md) shows "
        "their use; every problem is one of [the errors](errors.md).",
        "\n\n".join([*sections, "## Bodies and answers", *kinds]),
    )


def errors_page() -> str:
    """Return the page of every error with its meaning on each surface."""
    meanings = {match["name"]: match["meaning"] or "" for match in _BRANCH.finditer(inspect.getdoc(errors) or "")}
    rows = [
        (
            f"`{error.__name__}`",
            f"`{error.code}`",
            str(codes.exit),
            str(codes.http),
            str(codes.mcp),
            meanings[error.__name__] or "any of the errors below",
        )
        for error, codes in errors.CODES.items()
    ]
    return _page(
        "Errors",
        "Every error carries a message, a hint that says what to do next, and the facts as fields. One table says what"
        " it means to a shell (exit code), an HTTP client (status) and an agent (MCP error code).",
        _table(("error", "code", "exit", "HTTP", "MCP", "meaning"), rows),
    )


def python_page() -> str:
    """Return the page of the Python clients: the constructor, every verb, and the fields of the results."""
    verbs = [verb for verb in VERBS.values() if verb.name not in STREAMED]
    modules = dict.fromkeys(verb.request.__module__ for verb in verbs)
    sections = [
        "\n\n".join(
            [
                f"## {module.rpartition('.')[2].capitalize()}\n\n{sys.modules[module].__doc__}",
                *(_verb(verb) for verb in verbs if verb.request.__module__ == module),
            ]
        )
        for module in modules
    ]
    return _page(
        "Python",
        _PYTHON_OPENING,
        "\n\n".join([_client(), *sections, "## Results", *map(_class, _result_classes(VERBS.values()))]),
    )


_PYTHON_OPENING = """\
The clients of Python programs. `MemoryClient` is for programs with an event loop, `SyncMemoryClient` for all others;
it has the same constructor and methods, without `await`. The type hints are complete: editors and type checkers know
every argument and result.

```python
from scrubjay import SyncMemoryClient
from scrubjay.model.requests import RecallRequest

memory = SyncMemoryClient(space="work")
remembered = memory.remember("Sarah prefers voice calls", entities=["Sarah"])
found = memory.recall("how does Sarah like to be reached?")
found = memory.call(RecallRequest(query="how does Sarah like to be reached?"))
```

Each method is a short form of `call` with the request of its verb. Requests are checked when they are made, and
`RecallRequest.of(...)` also takes the arguments of groups, such as the filter of `recall`, one by one.

Methods raise [errors](errors.md), all of which are a `ScrubjayError` with a `message`, a `hint` and `fields`:
`InvalidInput` for a wrong argument, which `fields["field"]` names; `NotFound` and `Ambiguous` for an id, name or title
(those that are missing in a list are in `missing` of the result);
`Conflict` if the store has changed; `NotAllowed` and `NotAdmitted` if a server refuses the token; `Busy` and
`DaemonUnavailable` if no answer comes; if the answer to a write was lost, the error says whether it was committed.

In the signatures, `Moment` is a `datetime`, a text such as `2026-05-31T14:00:00Z` or `2026-05-31`, or None; `Json` is
any JSON value; `UNSET` leaves a value as it is; `Progress` is a function that is called with two numbers, done and
total.

`recall_all`, `search_text_all` and `history_all` have the arguments of their verbs without `limit`, and iterate over
all pages; `page` is the size of one. `add`, `search` and `delete` are `remember`, `recall` and `forget`;
`get(id)`, `get_all(entity=…, agent=…, session=…, limit=…)` and `update(id, text)` are short forms of `read`,
`recall_all` and `revise`: see [where they come from](../how-to/coming-from.md)."""
# The meaning of each argument of the constructor.
_CONSTRUCTOR = {
    "path": "Open the store in this folder, in this process. It needs the package `scrubjay`.",
    "url": "Address of a server, such as `http://127.0.0.1:7272`. Default: `SCRUBJAY_URL`, else the daemon of the data"
    " folder if one runs, else the store itself.",
    "token": "Token for the server. Default: `SCRUBJAY_TOKEN`.",
    "space": "Space to use. Default: `SCRUBJAY_SPACE`; with a token, its first space.",
    "agent": "Name of the agent, recorded as the source of what it writes. Default: `SCRUBJAY_AGENT`.",
    "run": "Id under which all writes of this client are recorded; `undo` takes them back together.",
    "settings": "[Settings](settings.md) to use instead of the environment.",
}


def _client() -> str:
    rows = [
        (f"`{name}`", f"`{render_type(parameter.annotation)}`", f"`{parameter.default!r}`", _CONSTRUCTOR[name])
        for name, parameter in inspect.signature(MemoryClient).parameters.items()
    ]
    constructor = _table(("argument", "type", "default", "meaning"), rows)
    parts = ["## The client", f"### MemoryClient\n\n{inspect.getdoc(MemoryClient)}\n\n{constructor}"]
    for method in (MemoryClient.call, MemoryClient.export, MemoryClient.import_lines):
        signature, doc = inspect.getsource(method).split('"""')[:2]
        parts.append(f"### {method.__name__}\n\n{_code(signature)}\n\n{inspect.cleandoc(doc)}")
    return "\n\n".join(parts)


def _verb(verb: Verb) -> str:
    result = result_of(verb.request)
    signature = wrap(f"async def {verb.name}(", ["self", *parameters_of(verb)], f") -> {render_type(result)}:")
    parts = [f"### {verb.name}", _code("\n".join(signature)), inspect.cleandoc(verb.request.__doc__ or "")]
    rows = [_argument(argument) for argument in arguments_of(verb.request)]
    if rows:
        parts.append(_table(("argument", "type", "default", "meaning"), rows))
    parts.append(f"Request: `{verb.request.__name__}`. Result: {_linked(result)}. {_facts(verb)}")
    return "\n\n".join(parts)


def _argument(argument: Argument) -> tuple[str, ...]:
    kind, default = parameter_of(argument)
    return f"`{argument.name}`", f"`{kind}`", f"`{default}`" if default else "", argument.about.help


def _facts(verb: Verb) -> str:
    """Return what a verb does to the store, and its names on the other surfaces."""
    effect = {"reads": "It changes nothing", "destroys": "It destroys data, which `undo` does not bring back"}.get(
        verb.effect, "It writes; a repeated call changes nothing more" if verb.idempotent else "It writes"
    )
    limits = {
        "It concerns the whole store": verb.all_spaces,
        "It works only on the machine of the daemon": verb.needs is Access.OWNER,
        f"A token needs the access `{verb.needs}`": verb.needs is not Access.OWNER,
        "With no daemon to answer, it returns the last answer, marked as `stale`": verb.offline,
    }
    tools = ", ".join(f"`{name}` of `{toolset}`" for toolset, name in (tool.split(".") for tool in verb.tools))
    surfaces = [
        f"`scrubjay {verb.command}`" if verb.command else "",
        f"`{verb.route.replace(' ', ' /api/v1', 1)}`" if verb.route else "",
        f"the {'tool' if len(verb.tools) == 1 else 'tools'} {tools}" if tools else "",
    ]
    elsewhere = [surface for surface in surfaces if surface]
    sentences = [effect, *(text for text, holds in limits.items() if holds)]
    return ". ".join([*sentences, *([f"Elsewhere: {', '.join(elsewhere)}"] if elsewhere else [])]) + "."


def _result_classes(verbs: Iterable[Verb]) -> list[type]:
    """Return the classes of the project that results consist of, those of results first."""
    classes: dict[type, None] = {}
    waiting = [result_of(verb.request) for verb in verbs]
    while waiting:
        kind = waiting.pop(0)
        waiting += get_args(kind)
        if isinstance(kind, type) and get_origin(kind) is None and kind not in classes and _is_ours(kind):
            classes[kind] = None
            waiting += [member for _, member, _ in _members(kind)]
    return list(classes)


def _class(kind: type[object]) -> str:
    heading = f"### class {kind.__name__}\n\n{inspect.cleandoc(kind.__doc__ or '')}"
    if issubclass(kind, Enum):
        values = ", ".join(f"`{member.value}`" for member in kind.__members__.values())
        return f"{heading}\n\nValues: {values}."
    rows = [(f"`{name}`", _linked(member), meaning) for name, member, meaning in _members(kind)]
    return f"{heading}\n\n{_table(('field', 'type', 'meaning'), rows)}"


def _members(kind: type[object]) -> list[tuple[str, object, str]]:
    """Return the fields and properties of a class: name, type and meaning."""
    if not dataclasses.is_dataclass(kind):
        return []
    hints = get_type_hints(kind)
    properties = [
        (name, get_type_hints(member.fget)["return"], inspect.getdoc(member) or "")
        for name, member in vars(kind).items()
        # What is stored or sent is no part of a result.
        if isinstance(member, property) and not name.startswith("as_")
    ]
    fields = [
        (field.name, hints[field.name], describe_field(kind.__name__, field.name)) for field in dataclasses.fields(kind)
    ]
    return [*fields, *properties]


def _linked(kind: object) -> str:
    """Return a type as source, with links to the classes of the project."""
    text = render_type(kind)
    for name in sorted({part.__name__ for part in _our_parts(kind)}):
        text = re.sub(rf"\b{name}\b", f"`[`{name}`](#class-{name.lower()})`", text)
    return f"`{text}`".replace("``", "")


def _our_parts(kind: object) -> Iterator[type]:
    if isinstance(kind, type) and get_origin(kind) is None and _is_ours(kind):
        yield kind
    for part in get_args(kind):
        yield from _our_parts(part)


def _is_ours(kind: type) -> bool:
    return kind.__module__.startswith("scrubjay.")


def _code(text: str) -> str:
    return f"```py\n{textwrap.dedent(text).strip()}\n```"


def _commands(command: TyperCommand | TyperGroup, *, path: str) -> Iterator[str]:
    if isinstance(command, TyperGroup):
        if " " in path:
            yield f"## {path}\n\n{_help(command.help)}"
        for name, child in command.commands.items():
            if isinstance(child, TyperCommand | TyperGroup) and not child.hidden:
                yield from _commands(child, path=f"{path} {name}")
    else:
        yield _command(command, path=path)


def _command(command: TyperCommand, *, path: str) -> str:
    context = command.make_context(path, [], resilient_parsing=True, terminal_width=120)
    records = [parameter.get_help_record(context) for parameter in command.params]
    rows = [(f"`{record[0]}`", record[1]) for record in records if record is not None]
    usage = command.get_usage(context).removeprefix("Usage: ")
    return f"## {path}\n\n{_help(command.help)}\n\n```text\n{usage}\n```\n\n{_table(('argument', 'meaning'), rows)}"


def _tool(tool: Tool) -> str:
    inputs = cast("dict[str, dict[str, Json]]", tool.input.get("properties", {}))
    needed = cast("list[str]", tool.input.get("required", []))
    rows = [
        (f"`{name}`" + (" (needed)" if name in needed else ""), _type(schema), str(schema.get("description", "")))
        for name, schema in inputs.items()
    ]
    table = _table(("argument", "type", "meaning"), rows) if rows else "It takes no arguments."
    answer = ", ".join(f"`{name}`" for name in cast("dict[str, Json]", tool.output.get("properties", {})))
    parts = [f"### {tool.name}", tool.description, table, f"Answers with {answer}.", tool.remark]
    return "\n\n".join(filter(None, parts))


def _operation(call: str, operation: dict[str, Json]) -> str:
    parts = [f"### {operation['operationId']}", f"`{call}`: {operation['description']}"]
    parameters = [
        cast("dict[str, Json]", parameter) for parameter in cast("list[Json]", operation.get("parameters", []))
    ]
    rows = [
        (
            f"`{parameter['name']}`" + (" (needed)" if parameter.get("required") else ""),
            str(parameter["in"]),
            _type(cast("dict[str, Json]", parameter["schema"])),
            str(parameter.get("description", "")),
        )
        for parameter in parameters
    ]
    if rows:
        parts.append(_table(("parameter", "in", "type", "meaning"), rows))
    if "requestBody" in operation:
        parts.append(f"Takes {_content(cast('dict[str, Json]', operation['requestBody']))}.")
    answers = cast("_Parts", operation["responses"])
    good = [f"{status} {_content(answer)}".strip() for status, answer in answers.items() if "$ref" not in answer]
    wrong = [status for status, answer in answers.items() if "$ref" in answer]
    parts.append(f"Answers {', or '.join(good)}. Problems: {', '.join(wrong)}.")
    return "\n\n".join(parts)


def _content(part: dict[str, Json]) -> str:
    kinds = cast("_Parts", part.get("content", {}))
    return " or ".join(
        _type(cast("dict[str, Json]", content["schema"])) if kind == "application/json" else f"`{kind}`"
        for kind, content in kinds.items()
    )


def _schema(name: str, schema: dict[str, Json]) -> str:
    needed = cast("list[str]", schema.get("required", []))
    rows = [
        (f"`{field}`" + (" (needed)" if field in needed else ""), _type(value), str(value.get("description", "")))
        for field, value in cast("_Parts", schema["properties"]).items()
    ]
    return f"### {name} in JSON\n\n{schema.get('description', '')}\n\n{_table(('field', 'type', 'meaning'), rows)}"


def _type(schema: dict[str, Json]) -> str:
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return "any" if name == "JsonValue" else f"[{name}](#{name.lower()}-in-json)"
    if "anyOf" in schema:
        return " or ".join(_type(cast("dict[str, Json]", option)) for option in cast("list[Json]", schema["anyOf"]))
    if "enum" in schema:
        return "one of " + ", ".join(f"`{value}`" for value in cast("list[Json]", schema["enum"]))
    if schema.get("format") == "date-time":
        return "time"
    kind = schema.get("type", "any")
    shown = "or ".join(f"{name} " for name in kind).strip() if isinstance(kind, list) else str(kind)
    items = schema.get("items")
    return f"{shown} of {_type(items)}" if isinstance(items, dict) else shown


def _default(field: dataclasses.Field[object]) -> str:
    if "default" in field.metadata:
        return str(field.metadata["default"])
    if field.default is dataclasses.MISSING:
        return ""
    shown = str(field.default).lower() if isinstance(field.default, bool) else field.default
    return f"`{shown}`" if shown not in (None, "") else ""


def _help(text: str | None) -> str:
    return inspect.cleandoc(text or "").replace("\b\n", "")


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def _page(title: str, opening: str, body: str) -> str:
    return f"# {title}\n\n{_GENERATED}\n\n{opening}\n\n{body}\n"


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main())
