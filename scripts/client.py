"""Writes src/scrubjay/client/verbs.py: the methods of the clients, one for each verb, with typed arguments.

`python -m scripts.client` writes the file; `make docs` does so too, and a test holds it against the requests.
"""

import inspect
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Literal, Union, get_args, get_origin, get_type_hints

from scrubjay.model.arguments import UNSET, Argument, Request, Unset, arguments_of, result_of
from scrubjay.model.memory import Source
from scrubjay.model.results import Outcome, ReadResult
from scrubjay.model.verbs import VERBS, Verb

TARGET = Path(__file__).parents[1] / "src/scrubjay/client/verbs.py"
# Their lines are streamed, so the clients write these methods themselves.
STREAMED = ("export", "import")
# Verbs with pages: what tells where the next one begins, and the field with the items.
PAGED = {"recall": ("cursor", "hits"), "search_text": ("offset", "hits"), "history": ("before", "versions")}
_HEADER = '''\
"""The verbs as methods, with their arguments. Written by `make docs` from the requests: change those instead."""

# fmt: off
# ruff: noqa: D413, E501
'''
_WIDTH = 120


def render() -> str:
    """Return the text of the file."""
    verbs = [verb for verb in VERBS.values() if verb.name not in STREAMED]
    body = "\n".join(
        [
            *_class("AsyncVerbs", "The verbs for programs with an event loop.", verbs, is_async=True),
            "",
            *_class("SyncVerbs", "The verbs for programs without an event loop.", verbs, is_async=False),
        ]
    ).rstrip()
    imports = [_import(module, names) for module, names in sorted(_imports(verbs).items())]
    return _HEADER + "\n".join(
        [
            "from abc import ABC, abstractmethod",
            "from collections.abc import AsyncIterator, Iterator, Mapping, Sequence",
            "from datetime import datetime",
            "from pathlib import Path",
            "from typing import Literal, TypeVar",
            "",
            "from scrubjay.client import pages",
            "from scrubjay.model import requests",
            *imports,
            "",
            'R = TypeVar("R")',
            "Moment = datetime | str | None",
            "",
            "",
            body,
            "",
        ]
    )


def _class(name: str, doc: str, verbs: Iterable[Verb], *, is_async: bool) -> list[str]:
    word = "async def" if is_async else "def"
    lines = [
        f"class {name}(ABC):",
        f'    """{doc}"""',
        "",
        "    @abstractmethod",
        f"    {word} call(self, request: Request[R], *, progress: Progress | None = None) -> R:",
        '        """Carry out a request."""',
    ]
    for verb in verbs:
        lines += ["", *_method(verb, is_async=is_async)]
        if verb.name in PAGED:
            lines += ["", *_pages(verb, is_async=is_async)]
    return [*lines, ""]


def _method(verb: Verb, *, is_async: bool) -> list[str]:
    values = [f"{argument.name}={argument.name}" for argument in arguments_of(verb.request)]
    progress = ", progress=progress" if verb.progress else ""
    wait, word = ("await ", "async def") if is_async else ("", "def")
    result = result_of(verb.request)
    start, end = f"return {wait}self.call(", f"){progress})"
    if render_type(result) in (ReadResult.__name__, Outcome.__name__):
        start, end = f"return pages.require_existing(ids, {wait}self.call(", f"{end})"
    return [
        *wrap(f"    {word} {verb.name}(", ["self", *parameters_of(verb)], f") -> {render_type(result)}:"),
        *_docstring(inspect.getdoc(verb.request) or "", _described(verb)),
        *wrap(f"        {start}requests.{verb.request.__name__}.of(", values, end),
    ]


def _pages(verb: Verb, *, is_async: bool) -> list[str]:
    """Return the method that yields the items of all pages of a verb."""
    place, items = PAGED[verb.name]
    own = [argument for argument in arguments_of(verb.request) if argument.name not in (place, "limit", "diff")]
    parameters = [
        *[_parameter(argument) for argument in own if argument.about.positional], "*", "page: int = 50",
        *[_parameter(argument) for argument in own if not argument.about.positional],
    ]  # fmt: skip
    kind = result_of(verb.request)
    item = render_type(get_args(get_type_hints(kind)[items])[0])
    wait, word, iterator = ("await ", "async def", "AsyncIterator") if is_async else ("", "def", "Iterator")
    request = f"requests.{verb.request.__name__}"
    doc = f"Yield every item of `{items}` of `{verb.name}`, page by page."
    return [
        *wrap(f"    {word} {verb.name}_all(", ["self", *parameters], f") -> {iterator}[{item}]:"),
        *_docstring(doc, {"page": "Items of a page.", **{argument.name: argument.about.help for argument in own}}),
        *wrap(
            f"        request: {request} | None = {request}.of(",
            [*(f"{argument.name}={argument.name}" for argument in own), "limit=page"],
            ")",
        ),
        "        while request is not None:",
        f"            result = {wait}self.call(request)",
        *(
            [f"            for item in result.{items}:", "                yield item"]
            if is_async
            else [f"            yield from result.{items}"]
        ),
        f"            request = pages.after_{verb.name}(request, result)",
    ]


def _described(verb: Verb) -> dict[str, str]:
    about = {argument.name: argument.about.help for argument in arguments_of(verb.request)}
    return {**about, "progress": "Called with two numbers, done and total."} if verb.progress else about


def _docstring(text: str, arguments: Mapping[str, str]) -> list[str]:
    """Return a docstring that describes the arguments, in the form that editors show."""
    lines = text.splitlines()
    if arguments:
        lines += ["", "Args:"]
    for name, about in arguments.items():
        lines += textwrap.wrap(
            f"{name}: {about}", _WIDTH - 8, initial_indent="    ", subsequent_indent=" " * 8,
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip
    body = "\n".join([f'"""{lines[0]}', *lines[1:], '"""']) if len(lines) > 1 else f'"""{text}"""'
    return textwrap.indent(body, " " * 8).splitlines()


def parameters_of(verb: Verb) -> list[str]:
    """Return the parameters of the method of a verb as source, those by position first."""
    arguments = arguments_of(verb.request)
    positional = [_parameter(argument) for argument in arguments if argument.about.positional]
    named = [_parameter(argument) for argument in arguments if not argument.about.positional]
    if verb.progress:
        named.append("progress: Progress | None = None")
    return [*positional, *(["*", *named] if named else [])]


def wrap(start: str, parts: Sequence[str], end: str) -> list[str]:
    """Return a call or signature on one line, or with its parts on lines of their own."""
    whole = start + ", ".join(parts) + end
    if len(whole) <= _WIDTH:
        return [whole]
    indent = " " * (len(start) - len(start.lstrip()))
    lines = [f"{indent}   "]
    for part in parts:
        if len(lines[-1]) + len(part) + 2 > _WIDTH:
            lines.append(f"{indent}   ")
        lines[-1] += f" {part},"
    return [start, *lines, indent + end]


def _import(module: str, names: Iterable[str]) -> str:
    ordered = sorted(names, key=lambda name: (not name.isupper(), name.lower()))
    line = f"from {module} import {', '.join(ordered)}"
    return (
        line
        if len(line) <= _WIDTH
        else f"from {module} import (\n" + "".join(f"    {name},\n" for name in ordered) + ")"
    )


def _parameter(argument: Argument) -> str:
    kind, default = parameter_of(argument)
    return f"{argument.name}: {kind} = {default}" if default else f"{argument.name}: {kind}"


def parameter_of(argument: Argument) -> tuple[str, str]:
    """Return the annotation and the default of an argument as source; a required one has no default."""
    kind, default = _accepted(argument.type, single=argument.about.single), argument.default
    if argument.is_required:
        return kind, ""
    if isinstance(default, Mapping):
        return f"{kind} | None", "None"
    return kind, "UNSET" if default is UNSET else _literal(default.value if isinstance(default, Enum) else default)


def _accepted(kind: object, *, single: bool = False) -> str:
    """Return the annotation of what a caller may pass: more types than the request stores."""
    members = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    if datetime in members:
        return "Moment | Unset" if Unset in members else "Moment"
    texts = [_accepted_member(member, single=single) for member in members if member is not NoneType]
    return " | ".join([*texts, *(["None"] if NoneType in members else [])])


def _accepted_member(kind: object, *, single: bool) -> str:
    if get_origin(kind) is tuple:
        items = f"Sequence[{_accepted(get_args(kind)[0])}]"
        return f"str | {items}" if single else items
    if isinstance(kind, type) and issubclass(kind, Enum) and kind is not Unset:
        return f"Literal[{', '.join(_literal(member.value) for member in kind)}]"
    widened = {Source: "Source | Mapping[str, Json]", Path: "str | Path", bytes: "str | bytes"}
    return widened.get(kind) or render_type(kind)  # type: ignore[arg-type]


def render_type(kind: object) -> str:
    """Return an annotation as source."""
    origin, arguments = get_origin(kind), get_args(kind)
    if {NoneType, bool, float} <= set(arguments):
        return "Json"
    if kind is NoneType:
        return "None"
    if origin is Literal:
        return f"Literal[{', '.join(map(_literal, arguments))}]"
    if origin in (Union, UnionType):
        return " | ".join(map(render_type, arguments))
    if origin is tuple:
        return f"tuple[{render_type(arguments[0])}, ...]"
    if origin is not None:
        return f"{origin.__name__}[{', '.join(map(render_type, arguments))}]"
    if isinstance(kind, type) and issubclass(kind, Request):
        return f"requests.{kind.__name__}"
    return kind.__name__ if isinstance(kind, type) else str(kind)


def _literal(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _imports(verbs: Iterable[Verb]) -> dict[str, set[str]]:
    """Return the names of the project that the annotations need, by module."""
    imported: dict[str, set[str]] = {
        "scrubjay.model.arguments": {"UNSET", "Request", "Unset"},
        "scrubjay.model.memory": {"Json"},
        "scrubjay.model.transfer": {"Progress"},
    }
    for verb in verbs:
        result = result_of(verb.request)
        items = get_type_hints(result)[PAGED[verb.name][1]] if verb.name in PAGED else None
        for kind in (result, items, *(argument.type for argument in arguments_of(verb.request))):
            for part in _parts(kind):
                if part.__module__.startswith("scrubjay.") and not issubclass(part, Request | Enum):
                    imported.setdefault(part.__module__, set()).add(part.__name__)
    return imported


def _parts(kind: object) -> Iterable[type]:
    if isinstance(kind, type) and get_origin(kind) is None:
        yield kind
    for argument in get_args(kind):
        yield from _parts(argument)


def main() -> None:
    """Write the file, formatted."""
    TARGET.write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
