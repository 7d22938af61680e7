"""The files of the project, read once, for the tests of the coding rules."""

import ast
import gc
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "scrubjay"

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, eq=False)
class Module:
    """One Python file. `name` is its path from the project's root, with forward slashes."""

    name: str
    text: str

    @property
    def dotted(self) -> str:
        """Its import name."""
        path = self.name.removeprefix("src/").removesuffix(".py").removesuffix("/__init__")
        return path.replace("/", ".")

    @property
    def tree(self) -> ast.Module:
        return _tree(self)

    @property
    def lines(self) -> int:
        return len(self.text.splitlines())

    def nodes(self) -> tuple[ast.AST, ...]:
        return _nodes(self)

    def functions(self) -> Iterator[Function]:
        return (node for node in self.nodes() if isinstance(node, Function))

    def imports(self) -> Iterator[tuple[str, int]]:
        """Yield the full name and the line of every import in the file."""
        for node in self.nodes():
            if isinstance(node, ast.Import):
                yield from ((alias.name, node.lineno) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)


@cache
def modules(*folders: str) -> tuple[Module, ...]:
    """Return every Python file under these folders of the project."""
    results = sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return tuple(_read(path) for path in results)


@cache
def rooms() -> tuple[str, ...]:
    """Return the top-level packages and modules of the package, without `__init__`."""
    packages = (path.parent.name for path in PACKAGE.glob("*/__init__.py"))
    files = (path.stem for path in PACKAGE.glob("*.py") if path.stem != "__init__")
    return tuple(sorted((*packages, *files)))


@cache
def pages() -> tuple[Path, ...]:
    """Return the Markdown pages for readers."""
    return (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))


def called(node: ast.AST) -> str:
    """Return the dotted name of the called function; empty for other calls."""
    return dotted(node.func) if isinstance(node, ast.Call) else ""


def dotted(node: ast.AST) -> str:
    """Return `a.b.c` as text; empty if it is not a plain chain of names."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value)
        return f"{owner}.{node.attr}" if owner else ""
    return ""


@cache
def _nodes(module: Module) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(module.tree))


@cache
def _tree(module: Module) -> ast.Module:
    # Everything stays in memory, and garbage collection would take longer than parsing.
    gc.disable()
    try:
        return ast.parse(module.text, filename=module.name)
    finally:
        gc.enable()


@cache
def _read(path: Path) -> Module:
    return Module(name=path.relative_to(ROOT).as_posix(), text=path.read_text(encoding="utf-8"))
