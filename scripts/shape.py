"""Prints the shape of the package: its size, its functions, its names. `make shape` runs it."""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.contract.source import PACKAGE, Function, Module, modules, rooms

from scripts.coverage_floors import read_floors, rooms_of
from scripts.vocabulary import find_words

_LONGEST = 10


@dataclass(frozen=True, slots=True)
class Row:
    """One measure, and the details below it."""

    name: str
    value: str
    details: tuple[str, ...] = ()


def measure_shape() -> Iterator[Row]:
    """Yield all measures."""
    package = modules("src")
    lengths = sorted(length(function) for module in package for function in module.functions())
    private, once = called_once(package)
    classes = repeated_classes(package)
    floors, covered = read_floors(), rooms_of(PACKAGE)
    yield Row("top-level rooms and files", str(len(rooms())))
    yield Row("Python files / lines", f"{len(package)} / {sum(module.lines for module in package):,}")
    yield Row("function lines p50 / p90", f"{percentile(lengths, 50)} / {percentile(lengths, 90)}")
    yield Row("private functions called once", f"{100 * once / max(1, private):.0f} % of {private:,}")
    yield Row("public class names that occur more than once", str(len(classes)), classes)
    yield Row("words of the private vocabulary", f"{len(find_words()):,}")
    without = tuple(sorted(set(covered) - set(floors)))
    yield Row(
        "rooms under a coverage floor",
        f"{len(covered) - len(without)} of {len(covered)}",
        (f"not {', '.join(without)}",) if without else (),
    )
    longest = sorted(package, key=lambda module: module.lines, reverse=True)[:_LONGEST]
    yield Row("longest modules", "", tuple(f"{module.lines:>5} {module.name}" for module in longest))


def called_once(package: Sequence[Module]) -> tuple[int, int]:
    """Return the number of private functions, and of those that their module mentions once."""
    private = once = 0
    for module in package:
        mentioned = Counter(_mentions(module))
        names = [function.name for function in module.functions() if _is_private(function.name)]
        private += len(names)
        once += sum(mentioned[name] == 1 for name in names)
    return private, once


def repeated_classes(package: Sequence[Module]) -> tuple[str, ...]:
    """Return the repeated names of public classes, the most frequent first, with their modules."""
    owners: defaultdict[str, list[str]] = defaultdict(list)
    for module in package:
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                owners[node.name].append(module.dotted.removeprefix("scrubjay."))
    repeated = sorted(owners.items(), key=lambda item: (-len(item[1]), item[0]))
    return tuple(f"{name} x{len(names)}: {', '.join(names)}" for name, names in repeated if len(names) > 1)


def length(function: Function) -> int:
    """Return the number of lines of a function."""
    return (function.end_lineno or function.lineno) - function.lineno + 1


def percentile(ordered: Sequence[int], share: int) -> int:
    """Return a percentile of ordered values."""
    return ordered[min(len(ordered) - 1, len(ordered) * share // 100)] if ordered else 0


def _mentions(module: Module) -> Iterator[str]:
    for node in module.nodes():
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def main() -> None:
    """Print the table."""
    for row in measure_shape():
        print(f"{row.name:<48} {row.value}".rstrip())
        for detail in row.details:
            print(f"    {detail}")


if __name__ == "__main__":
    main()
