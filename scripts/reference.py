"""Writes docs/reference from the code; with --check it only reports whether the pages are up to date."""

import dataclasses
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import typer
from typer.core import TyperCommand, TyperGroup

from scrubjay import errors
from scrubjay.model.memory import Json
from scrubjay.settings import Settings
from scrubjay.surfaces.cli.main import app
from scrubjay.surfaces.mcp.tool import Tool
from scrubjay.surfaces.mcp.toolsets import TOOLSETS
from scrubjay.surfaces.rest.app import make_bare_app
from scrubjay.surfaces.rest.openapi import describe_app

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "reference"
_GENERATED = "<!-- Written by `make docs` from the code. Change the code, not this page. -->"
_Parts = dict[str, dict[str, Json]]
_BRANCH = re.compile(r"^[│├└─ ]*(?P<name>[A-Z]\w+)(?: {2,}(?P<meaning>.+))?$", re.MULTILINE)


def main() -> int:
    """Write the pages, or with --check name those that are out of date."""
    pages = {
        "settings.md": settings_page(),
        "commands.md": commands_page(),
        "errors.md": errors_page(),
        "tools.md": tools_page(),
        "rest.md": rest_page(),
    }
    if "--check" in sys.argv[1:]:
        stale = [name for name, text in pages.items() if _read(FOLDER / name) != text]
        for name in stale:
            print(f"docs/reference/{name} is out of date: run make docs")
        return 1 if stale else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pages.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        print(f"docs/reference/{name}")
    return 0


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
    return f"### {tool.name}\n\n{tool.description}\n\n{table}\n\nAnswers with {answer}."


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
