"""Compares the branch coverage of every room with its floor in tests/coverage.toml. `make coverage` runs it.

It reads the output of `coverage json`. A room below its floor fails, and so does a room without a floor. `--write`
raises the floors to a little below the measured coverage and adds those of new rooms; only an editor can lower a floor.
"""

import argparse
import json
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "scrubjay"
FLOORS = ROOT / "tests" / "coverage.toml"
# A room so large that each of its parts has a floor.
_IN_PARTS = "surfaces"
# The files at the top of the package, together.
_TOP = "scrubjay"
# Tests that draw their cases cover a little more or less on another machine.
_MARGIN = 3


@dataclass(slots=True)
class Covered:
    """The number of lines and branches of a room, and of those that ran."""

    total: int = 0
    run: int = 0

    @property
    def percent(self) -> float:
        """The share that ran; a room without code is covered."""
        return 100 * self.run / self.total if self.total else 100.0

    @property
    def floor(self) -> int:
        """The floor that this coverage allows."""
        return int(self.percent) - _MARGIN


def rooms_of(package: Path) -> tuple[str, ...]:
    """Return every room with a floor: the packages, the parts of the largest, and the files at the top as one."""
    packages = {path.parent.name for path in package.glob("*/__init__.py")}
    parts = {f"{_IN_PARTS}.{path.parent.name}" for path in package.glob(f"{_IN_PARTS}/*/__init__.py")}
    return (_TOP, *sorted(f"{_TOP}.{name}" for name in packages | parts))


def read_floors(path: Path = FLOORS) -> dict[str, int]:
    """Read the floor of each room, in percent."""
    return {str(room): int(floor) for room, floor in tomllib.loads(path.read_text(encoding="utf-8")).items()}


def room_of(path: str) -> str:
    """Return the room of a file by its path from `src/scrubjay`."""
    parts = path.split("/")
    if len(parts) == 1:
        return _TOP
    depth = 2 if parts[0] == _IN_PARTS and len(parts) > 2 else 1
    return ".".join((_TOP, *parts[:depth]))


def measure(report: Mapping[str, object], rooms: Iterable[str]) -> dict[str, Covered]:
    """Sum up the coverage of each room from the output of `coverage json`."""
    measured = {room: Covered() for room in rooms}
    files = cast("Mapping[str, Mapping[str, Mapping[str, int]]]", report["files"])
    for name, file in files.items():
        path = Path(name).as_posix().partition("src/scrubjay/")[2]
        room = measured.get(room_of(path))
        if room is not None:
            summary = file["summary"]
            room.total += summary["num_statements"] + summary["num_branches"]
            room.run += summary["covered_lines"] + summary["covered_branches"]
    return measured


def problems(measured: Mapping[str, Covered], floors: Mapping[str, int]) -> list[str]:
    """Return the problems: a room below its floor or without one, and a floor without a room."""
    wrong = [
        f"{room} is covered to {covered.percent:.1f} %, below its floor of {floors[room]} %"
        for room, covered in measured.items()
        if room in floors and covered.percent < floors[room]
    ]
    wrong += [f"{room} has no floor: run `make coverage ARGS=--write`" for room in measured if room not in floors]
    return wrong + [f"{room} has a floor and does not exist: remove it" for room in floors if room not in measured]


def raise_floors(measured: Mapping[str, Covered], floors: Mapping[str, int]) -> dict[str, int]:
    """Return the floors, each at least as high as before."""
    return {room: max(floors.get(room, 0), covered.floor) for room, covered in measured.items()}


def write_floors(floors: Mapping[str, int], path: Path = FLOORS) -> None:
    """Write the floors below the comment of the file."""
    comment = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    rows = [f'"{room}" = {floor}' for room, floor in sorted(floors.items())]
    path.write_text("\n".join((*comment, *rows)) + "\n", encoding="utf-8")


def main() -> int:
    """Print the table; fail if there are problems."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", type=Path, help="the output of `coverage json`")
    parser.add_argument("--write", action="store_true", help="raise the floors to a little below the measured coverage")
    options = parser.parse_args()
    measured = measure(json.loads(options.report.read_text(encoding="utf-8")), rooms_of(PACKAGE))
    floors = read_floors()
    if options.write:
        floors = raise_floors(measured, floors)
        write_floors(floors)
    for room, covered in measured.items():
        floor = floors.get(room)
        higher = "" if floor is None or covered.floor <= floor else f"  can be raised to {covered.floor}"
        print(f"{room:<26} {covered.percent:6.1f} %   floor {'-' if floor is None else floor}{higher}")
    wrong = problems(measured, floors)
    for problem in wrong:
        print(problem, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
