"""Imports point down only, every room has an allow-list, and a third-party package is imported in its own rooms."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

from tests.contract.source import ROOT, Module, modules, rooms

_FOUNDATION = (
    "scrubjay.ports",
    "scrubjay.text",
    "scrubjay.model",
    "scrubjay.workers",
    "scrubjay.errors",
    "scrubjay.telemetry",
    "scrubjay.cancelling",
    "scrubjay.lazy",
)
# All that each room outside the layers of pyproject.toml may import, besides itself.
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "scrubjay.embedding": _FOUNDATION,
    "scrubjay.llm": _FOUNDATION,
    "scrubjay.paths": (),
    "scrubjay.reranking": _FOUNDATION,
    "scrubjay.settings": ("scrubjay.errors", "scrubjay.lazy", "scrubjay.model", "scrubjay.paths"),
    "scrubjay.storage": _FOUNDATION,
    "scrubjay.vectors": _FOUNDATION,
}
# The same for smaller parts of a room. The bridge starts with every session of an agent, so it loads next to nothing.
PARTS_MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "scrubjay.surfaces.mcp.bridge": ("scrubjay.paths", "scrubjay.version"),
}
# The rooms that may import each third-party package. Vectors are arrays, so numpy is allowed everywhere.
ROOMS = {
    "anyio": ("scrubjay.surfaces.mcp",),
    "apsw": ("scrubjay.storage.sqlite", "scrubjay.notes"),
    "cryptography": ("scrubjay.surfaces.http",),
    "fastapi": ("scrubjay.surfaces.rest",),
    "fastembed": ("scrubjay.embedding", "scrubjay.reranking"),
    "httpx2": ("scrubjay.auth", "scrubjay.embedding", "scrubjay.llm", "scrubjay.rpc"),
    "jinja2": ("scrubjay.surfaces.dashboard",),
    "jsonschema": ("scrubjay.surfaces.mcp",),
    "jwt": ("scrubjay.auth",),
    "keyring": ("scrubjay.app.encryption_key",),
    "markdown_it": ("scrubjay.notes", "scrubjay.surfaces.dashboard"),
    "markupsafe": ("scrubjay.surfaces.dashboard",),
    "mcp": ("scrubjay.surfaces.mcp",),
    "mcp_types": ("scrubjay.surfaces.mcp",),
    "numpy": ("scrubjay",),
    "onnxruntime": ("scrubjay.embedding",),
    "opentelemetry": ("scrubjay.observability",),
    "PIL": ("scrubjay.embedding",),
    "prometheus_client": ("scrubjay.observability",),
    "psycopg": ("scrubjay.storage.postgres",),
    "psycopg_pool": ("scrubjay.storage.postgres",),
    "pydantic": ("scrubjay.surfaces.mcp", "scrubjay.surfaces.rest"),
    "pydantic_monty": ("scrubjay.code",),
    "pydantic_ai": ("scrubjay.llm",),
    "pypdf": ("scrubjay.notes",),
    "qdrant_client": ("scrubjay.vectors",),
    "qdrant_edge": ("scrubjay.vectors",),
    "rapidfuzz": ("scrubjay.text", "scrubjay.storage", "scrubjay.graph", "scrubjay.rpc", "scrubjay.surfaces.mcp"),
    "reportlab": ("scrubjay.notes",),
    "rich": ("scrubjay.surfaces.cli",),
    "ruamel": ("scrubjay.notes",),
    "sentence_transformers": ("scrubjay.embedding", "scrubjay.reranking"),
    "starlette": (
        "scrubjay.surfaces.mcp",
        "scrubjay.surfaces.daemon",
        "scrubjay.surfaces.dashboard",
        "scrubjay.surfaces.rest",
        "scrubjay.surfaces.http",
    ),
    "Stemmer": ("scrubjay.text",),
    "typer": ("scrubjay.surfaces.cli",),
    "uvicorn": ("scrubjay.surfaces.http",),
    "watchfiles": ("scrubjay.notes",),
    "zstandard": ("scrubjay.storage",),
}
# uvicorn loads them by name; the runtime is a program, which workers run.
BY_NAME = {"httptools", "websockets", "pydantic-monty-runtime"}


def test_the_layers_hold() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [linter, "--no-logo", "--no-cache"], cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_room_is_in_a_layer_or_has_an_allow_list() -> None:
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (layers,) = (contract for contract in linter["contracts"] if contract["type"] == "layers")
    names = [name.strip() for row in layers["layers"] for name in re.split("[|:]", row)]
    # A name in brackets may be missing.
    layered = {f"scrubjay.{name}" for name in names if not name.startswith("(")}
    assert {f"scrubjay.{name}" for name in layers["exhaustive_ignores"]} == set(MAY_IMPORT)
    assert not layered & set(MAY_IMPORT)
    assert layered | set(MAY_IMPORT) == {f"scrubjay.{name}" for name in rooms()}


def test_a_room_outside_the_layers_imports_only_what_is_listed() -> None:
    strays = [
        f"{module.name}:{line} imports {name}: {room} may import {', '.join(allowed) or 'nothing'}"
        for room, allowed in (MAY_IMPORT | PARTS_MAY_IMPORT).items()
        for module in modules("src")
        if _is_in(module.dotted, room)
        for name, line in module.imports()
        if _is_in(name, "scrubjay") and not any(_is_in(name, owner) for owner in (room, *allowed))
    ]
    assert not strays


def test_imports_are_absolute() -> None:
    # The tests of this file read the full name of a module.
    assert not [
        f"{module.name}:{node.lineno}"
        for module in modules("src")
        for node in module.nodes()
        if isinstance(node, ast.ImportFrom) and node.level
    ]


def test_every_third_party_package_stays_in_its_room() -> None:
    strays = [
        f"{module.name}:{line} imports {package}"
        for module in modules("src")
        for package, line in _third_party(module)
        if not any(_is_in(module.dotted, room) for room in ROOMS.get(package, ()))
    ]
    assert not strays


def test_every_dependency_is_used_and_every_used_package_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    core = {_distribution(line) for line in project["dependencies"]}
    extra = {_distribution(line) for lines in project["optional-dependencies"].values() for line in lines}
    used = {package for module in modules("src") for package, _ in _third_party(module)}
    providers = packages_distributions()
    # Several distributions may share a package's name, as the parts of OpenTelemetry do.
    existing = [{_distribution(item) for item in providers.get(package, [package])} for package in used]
    assert core - BY_NAME <= set[str]().union(*existing)
    assert all(item & (core | extra) for item in existing)


def test_the_thin_client_needs_no_other_module_and_one_package() -> None:
    project = tomllib.loads((ROOT / "packages/scrubjay-client/pyproject.toml").read_text(encoding="utf-8"))
    build = project["tool"]["hatch"]["build"]
    thin = [
        module
        for module in modules("src")
        if any(_is_part(module.name, path) for path in build["only-include"]) and module.name not in build["exclude"]
    ]
    names = {module.dotted for module in thin}
    assert "scrubjay.client.sync" in names
    # A store in the same process, which only the product has; imported when one is opened, or for its types.
    product = {"scrubjay.app", "scrubjay.app.notes", "scrubjay.engine", "scrubjay.notes.service"}
    strays = [
        f"{module.name}:{line} imports {name}"
        for module in thin
        for name, line in module.imports()
        if _is_in(name, "scrubjay") and not {name, name.rpartition(".")[0]} & (names | product)
    ]
    assert not strays
    needed = {package for module in thin for package, _ in _third_party(module)}
    assert needed == {_distribution(line) for line in project["project"]["dependencies"]}
    whole = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {*project["project"]["dependencies"]} <= {*whole["dependencies"]}
    assert project["project"]["requires-python"] == whole["requires-python"]


HEAVY = {
    "apsw", "qdrant_edge", "onnxruntime", "typer", "rich", "httpx2", "mcp", "fastapi", "jwt", "psycopg",
    "qdrant_client",
}  # fmt: skip


def test_importing_the_package_loads_no_heavy_one() -> None:
    code = "import sys, scrubjay; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT / "src", capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "scrubjay" in loaded
    assert not HEAVY & loaded


def _is_in(name: str, room: str) -> bool:
    return name == room or name.startswith(f"{room}.")


def _is_part(file: str, path: str) -> bool:
    return file == path or file.startswith(f"{path}/")


def _third_party(module: Module) -> list[tuple[str, int]]:
    named = [(name.split(".")[0], line) for name, line in module.imports()]
    # Extras are imported by name, so that the missing one can be reported.
    named += [
        (str(node.args[0].value).split(".")[0], node.lineno)
        for node in module.nodes()
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute | ast.Name)
        and ast.unparse(node.func) in {"importlib.import_module", "import_module", "find_spec"}
        and node.args
        and isinstance(node.args[0], ast.Constant)
    ]
    own = {"scrubjay", *sys.stdlib_module_names}
    return [(package, line) for package, line in named if package not in own]


def _distribution(requirement: str) -> str:
    name = requirement
    for mark in "[=<>!~;, ":
        name = name.split(mark)[0]
    return name.lower().replace("_", "-")
