"""The source of a skill: it is read, never run, to find its function, its parameters and its documentation."""

import ast
import keyword
import re
import warnings
from collections.abc import Iterator, Sequence
from textwrap import dedent

from scrubjay.errors import InvalidInput, TooLarge
from scrubjay.lazy import dataclass
from scrubjay.model.skill import SkillParameter

SOURCE_BYTES = 64_000
"""The largest source of a skill."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_OTHER = re.compile(r"[^A-Za-z0-9]+")
_MAX_STEP = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillSource:
    """A source, and what was read of its function."""

    text: str
    parameters: tuple[SkillParameter, ...] = ()
    documentation: str = ""


def require_name(name: str, *, taken: Sequence[str] = ()) -> str:
    """Return the name of a skill, which is that of its function; raise InvalidInput for what no function can be called.

    `taken` are the functions that code can call anyway.
    """
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        proposal = name_from(name)
        raise InvalidInput(
            f"{name[:100]!r} is no name for a skill: it is the name of its function, in letters, digits and _",
            hint=f"Call it {proposal}" if proposal else "For example count_by_kind", field="name",
        )  # fmt: skip
    if name in taken:
        raise InvalidInput(f"{name} is a function that code has anyway", hint="Choose another name", field="name")
    return name


def name_from(text: str) -> str:
    """Return a name of a skill made of a text, or nothing."""
    words = _OTHER.sub("_", text).strip("_").lower()[:64].strip("_")
    name = words if words[:1].isalpha() else f"skill_{words}" if words else ""
    return f"{name}_" if keyword.iskeyword(name) else name


def read_source(text: str, *, name: str) -> SkillSource:
    """Return a source with the parameters of the function that has the name of the skill; raise InvalidInput."""
    size = len(text.encode())
    if size > SOURCE_BYTES:
        raise TooLarge(
            f"the source has {size:,} bytes; the limit is {SOURCE_BYTES:,}",
            hint="Save parts of it as skills of their own, and load them", field="source", limit=SOURCE_BYTES,
        )  # fmt: skip
    text = dedent(text).rstrip()
    if not text:
        raise InvalidInput("the source is empty", hint=f"Write a function: def {name}(…)", field="source")
    functions = {node.name: node for node in _functions(parse(text, field="source"))}
    if name not in functions:
        others = f"it has {', '.join(functions)}" if functions else "it has no function"
        raise InvalidInput(
            f"the source must define the function {name}; {others}", hint=f"Write def {name}(…), or rename the skill",
            field="source",
        )  # fmt: skip
    function = functions[name]
    return SkillSource(
        text=text, parameters=tuple(_parameters(function)), documentation=(ast.get_docstring(function) or "").strip()
    )


def function_in(program: str, *, name: str) -> str:
    """Return the source of a function that a program defines, for a program that saves what it has just used."""
    function = next((node for node in _functions(parse(program, field="code")) if node.name == name), None)
    if function is None:
        raise InvalidInput(
            f"this program defines no function {name}", hint="Define it at the top level, or give its source",
            field="source",
        )  # fmt: skip
    first = min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])
    return "\n".join(program.split("\n")[first - 1 : function.end_lineno])


def source_of_steps(name: str, steps: str) -> str:
    """Return the source of a skill that returns the steps of a procedure, which its caller takes."""
    lines = [line.strip() for line in steps.splitlines() if line.strip()]
    listed = "".join(f"        {line!r},\n" for line in lines)
    return f"def {name}():\n    return [\n{listed}    ]"


def parse(text: str, *, field: str) -> ast.Module:
    """Parse Python; raise InvalidInput that names the line."""
    try:
        with warnings.catch_warnings():
            # They are about the text of others.
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        line = error.lineno or 1
        raise InvalidInput(
            f"line {line}: {error.msg}", hint=f"Correct line {line} of the source", field=field, line=line
        ) from None
    except (RecursionError, MemoryError, ValueError):
        raise InvalidInput(
            "the source cannot be parsed: it is nested too deeply, or has a NUL character",
            hint="Divide long expressions", field=field,
        ) from None  # fmt: skip


def _functions(module: ast.Module) -> Iterator[ast.FunctionDef]:
    return (node for node in module.body if isinstance(node, ast.FunctionDef))


def _parameters(function: ast.FunctionDef) -> Iterator[SkillParameter]:
    signature = function.args
    if signature.vararg or signature.kwarg or signature.posonlyargs:
        raise InvalidInput(
            f"line {function.lineno}: the parameters of a skill are given by name, without * and /",
            hint="Name each parameter", field="source", line=function.lineno,
        )  # fmt: skip
    missing = [None] * (len(signature.args) - len(signature.defaults))
    for parameter, default in (
        *zip(signature.args, (*missing, *signature.defaults), strict=True),
        *zip(signature.kwonlyargs, signature.kw_defaults, strict=True),
    ):
        yield SkillParameter(name=parameter.arg, type=_text(parameter.annotation), default=_text(default))


def _text(node: ast.expr | None) -> str:
    if node is None:
        return ""
    try:
        return ast.unparse(node)[:_MAX_STEP]
    except RecursionError:
        raise InvalidInput(
            f"line {node.lineno}: a parameter has a type or default that is nested too deeply",
            hint="Compute it in the function", field="source", line=node.lineno,
        ) from None  # fmt: skip
