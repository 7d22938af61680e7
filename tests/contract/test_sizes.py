"""Limits on the size of modules and functions, and meaningless names."""

from tests.contract.source import Function, Module, modules

LONGEST_MODULE = 700
LONGEST_FUNCTION = 60
# Written from the requests: no one reads it from top to bottom.
GENERATED = "src/scrubjay/client/verbs.py"
# Names that do not limit their content.
EMPTY_NAMES = {"utils", "util", "helpers", "helper", "manager", "managers", "base", "common", "misc"}


def test_no_module_is_too_long() -> None:
    long = {
        module.name: module.lines for module in _ours() if module.lines > LONGEST_MODULE and module.name != GENERATED
    }
    assert not long


def test_no_function_is_too_long() -> None:
    long = {
        f"{module.name}:{function.lineno} {function.name}": _length(function)
        for module in _ours()
        for function in module.functions()
        if _length(function) > LONGEST_FUNCTION
    }
    assert not long


def test_no_module_has_a_meaningless_name() -> None:
    empty = [module.name for module in _ours() if EMPTY_NAMES.intersection(module.name.removesuffix(".py").split("/"))]
    assert not empty


def _ours() -> tuple[Module, ...]:
    return modules("src", "scripts", "benchmarks", "interop")


def _length(function: Function) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1
