"""Forbidden constructs, found by reading the code."""

import ast
import re

from scripts.shape import repeated_classes
from tests.contract.source import Module, called, dotted, modules

# Unpickling executes code, and so do the others.
FORBIDDEN_IMPORTS = {"pickle", "marshal", "shelve", "dill", "joblib", "cloudpickle", "jsonpickle"}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__", "yaml.load", "yaml.unsafe_load", "os.system", "os.popen"}
FORBIDDEN_OPTIONS = {"shell", "allow_pickle"}
ENVIRONMENT = re.compile(r"os\.(environb?|getenvb?|putenv|unsetenv)(\..*)?")
OTHERS_STORE = re.compile(r"engine\s*\.\s*store\b|(?<!self)\s*\.\s*_store\b")
MAY_READ_ENVIRONMENT = {
    "src/scrubjay/settings.py",
    "src/scrubjay/paths.py",
    "src/scrubjay/surfaces/mcp/bridge/options.py",  # settings take too long to load for it
    "src/scrubjay/surfaces/cli/by_daemon.py",  # likewise
    "src/scrubjay/surfaces/cli/console.py",  # what the terminal can show
    "src/scrubjay/surfaces/cli/edit.py",  # the editor of the user
}
# The allowed broad handlers, only at the edge of a surface or a job. The numbers may only go down.
BROAD_HANDLERS = {
    "src/scrubjay/code/functions.py": 1,  # a program learns nothing of an error that is ours
    "src/scrubjay/telemetry.py": 1,
    "src/scrubjay/curation/runner.py": 3,  # a job or a space that fails stops no other
    "src/scrubjay/embedding/batching.py": 1,
    "src/scrubjay/embedding/clip.py": 1,  # tokenizers raise plain Exception
    "src/scrubjay/indexing/local_index.py": 1,
    "src/scrubjay/indexing/shared_leader.py": 1,
    "src/scrubjay/jobs/runner.py": 2,
    "src/scrubjay/reranking/reranker.py": 1,  # tokenizers raise plain Exception
    "src/scrubjay/storage/sqlite/writer.py": 3,
    "src/scrubjay/surfaces/cli/served.py": 1,
    "src/scrubjay/surfaces/daemon/rpc_dispatch.py": 1,
    "src/scrubjay/surfaces/daemon/rpc_session.py": 1,
    "src/scrubjay/surfaces/daemon/socket_server.py": 1,
    "src/scrubjay/surfaces/daemon/upkeep.py": 1,
    "src/scrubjay/surfaces/daemon/http_on_demand.py": 1,
    "src/scrubjay/surfaces/daemon/http_server.py": 2,
    "src/scrubjay/surfaces/mcp/server.py": 1,
    "src/scrubjay/surfaces/http/auth_middleware.py": 1,
    "src/scrubjay/workers.py": 1,
    "src/scrubjay/vectors/edge_codec.py": 1,  # the engine under it raises plain Exception, and panics, for everything
}


def test_nothing_runs_data_as_code() -> None:
    results = [
        f"{module.name}:{line} imports {name}"
        for module in modules("src", "scripts")
        for name, line in module.imports()
        if name.split(".")[0] in FORBIDDEN_IMPORTS
    ]
    results += [
        f"{module.name}:{node.lineno} calls {called(node)}"
        for module, node in _calls("src", "scripts")
        if called(node) in FORBIDDEN_CALLS
    ]
    results += [
        f"{module.name}:{node.lineno} sets {keyword.arg}"
        for module, node in _calls("src", "scripts")
        for keyword in node.keywords
        if keyword.arg in FORBIDDEN_OPTIONS
        and not (isinstance(keyword.value, ast.Constant) and not keyword.value.value)
    ]
    assert not results


def test_the_store_of_an_engine_is_private() -> None:
    """Other packages use its narrow ports, and the composition root hands the store to a server."""
    results = [
        f"{module.name}:{node.lineno} {dotted(node)}"
        for module in modules("src", "tests", "benchmarks", "scripts")
        if not module.name.startswith(("src/scrubjay/engine/", "src/scrubjay/app/"))
        # Parsing all of them takes seconds.
        if OTHERS_STORE.search(module.text)
        for node in module.nodes()
        if isinstance(node, ast.Attribute)
        if dotted(node).endswith("engine.store") or (node.attr == "_store" and dotted(node.value) != "self")
    ]
    assert not results


def test_only_settings_and_paths_read_the_environment() -> None:
    results = [
        f"{module.name}:{node.lineno}"
        for module in modules("src")
        if module.name not in MAY_READ_ENVIRONMENT
        for node in module.nodes()
        if isinstance(node, ast.Attribute) and ENVIRONMENT.fullmatch(dotted(node))
    ]
    results += [
        f"{module.name}:{line}"
        for module in modules("src")
        if module.name not in MAY_READ_ENVIRONMENT
        for name, line in module.imports()
        if ENVIRONMENT.fullmatch(name)
    ]
    assert not results


def test_broad_handlers_are_only_where_listed() -> None:
    counts = {module.name: _broad_handlers(module) for module in modules("src")}
    assert {name: count for name, count in counts.items() if count} == BROAD_HANDLERS


def test_a_public_class_name_occurs_once() -> None:
    assert repeated_classes(modules("src")) == ()


def test_nothing_is_left_for_later() -> None:
    results = [
        f"{module.name}:{number} {line.strip()}"
        for module in modules("src", "scripts")
        for number, line in enumerate(module.text.splitlines(), start=1)
        if re.search(r"\b(TODO|FIXME|XXX|HACK)\b|NotImplementedError", line)
    ]
    assert not results


def test_tests_use_no_mocks() -> None:
    # Parse only files that have the word.
    suspects = [module for module in modules("tests", "src") if "mock" in module.text]
    results = [
        f"{module.name}:{line} imports {name}"
        for module in suspects
        for name, line in module.imports()
        if name.startswith(("unittest.mock", "mock", "pytest_mock"))
    ]
    results += [
        f"{module.name}:{function.lineno} asks for mocker"
        for module in suspects
        if module.name.startswith("tests/")
        for function in module.functions()
        if any(argument.arg == "mocker" for argument in function.args.args)
    ]
    assert not results


def test_a_skip_says_what_is_missing() -> None:
    results = [
        f"{module.name}:{node.lineno}"
        for module, node in _calls("tests", "src", having=("skip", "xfail"))
        if called(node) in {"pytest.skip", "pytest.mark.skip", "pytest.mark.skipif", "pytest.mark.xfail"}
        and not any(keyword.arg == "reason" for keyword in node.keywords)
        and not (called(node) == "pytest.skip" and node.args)
    ]
    assert not results


def _calls(*folders: str, having: tuple[str, ...] = ("",)) -> list[tuple[Module, ast.Call]]:
    """Yield the calls in modules that contain one of the words."""
    return [
        (module, node)
        for module in modules(*folders)
        if any(word in module.text for word in having)
        for node in module.nodes()
        if isinstance(node, ast.Call)
    ]


def _broad_handlers(module: Module) -> int:
    # A handler that ends in a bare `raise` cleans up and swallows nothing.
    handlers = [
        node.type
        for node in module.nodes()
        if isinstance(node, ast.ExceptHandler) and not _is_bare_raise(node.body[-1])
    ]
    suppressed = [
        argument
        for node in module.nodes()
        if isinstance(node, ast.Call) and called(node) in {"suppress", "contextlib.suppress"}
        for argument in node.args
    ]
    return sum(map(_is_broad, handlers + suppressed))


def _is_bare_raise(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Raise) and statement.exc is None


def _is_broad(caught: ast.expr | None) -> bool:
    if caught is None:
        return True
    names = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(dotted(name) in {"Exception", "BaseException", "builtins.Exception"} for name in names)
