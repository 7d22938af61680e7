"""A room below its floor fails, a floor only rises, and no room is left out."""

from pathlib import Path

from scripts.coverage_floors import (
    PACKAGE,
    Covered,
    measure,
    problems,
    raise_floors,
    read_floors,
    room_of,
    rooms_of,
    write_floors,
)

REPORT = {
    "files": {
        f"src/scrubjay/{name}": {
            "summary": {"num_statements": 8, "num_branches": 2, "covered_lines": lines, "covered_branches": branches}
        }
        for name, lines, branches in (("model/memory.py", 8, 2), ("model/draft.py", 8, 1), ("errors.py", 4, 0))
    }
}


def test_a_file_belongs_to_its_room() -> None:
    rooms = {path: room_of(path) for path in ("errors.py", "model/memory.py", "surfaces/mcp/bridge/link.py")}
    assert list(rooms.values()) == ["scrubjay", "scrubjay.model", "scrubjay.surfaces.mcp"]


def test_every_file_of_the_package_is_in_a_room_with_a_floor() -> None:
    files = (path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))
    rooms = {room_of(path) for path in files}
    assert rooms == set(rooms_of(PACKAGE))


def test_lines_and_branches_of_a_room_are_added_up() -> None:
    measured = measure(REPORT, ["scrubjay", "scrubjay.model", "scrubjay.text"])
    assert [round(covered.percent) for covered in measured.values()] == [40, 95, 100]


def test_a_room_below_its_floor_or_without_one_fails() -> None:
    measured = {"a": Covered(100, 90), "b": Covered(100, 90), "c": Covered(100, 90)}
    wrong = problems(measured, {"a": 90, "b": 91, "d": 5})
    assert [problem.split()[0] for problem in wrong] == ["b", "c", "d"]
    assert problems({"a": Covered(100, 90)}, {"a": 90}) == []


def test_a_floor_rises_to_a_whole_percent_and_never_sinks() -> None:
    measured = {"a": Covered(1000, 959), "b": Covered(100, 80), "c": Covered(100, 70)}
    assert raise_floors(measured, {"a": 90, "b": 85, "gone": 9}) == {"a": 92, "b": 85, "c": 67}


def test_floors_are_written_below_the_comment(tmp_path: Path) -> None:
    file = tmp_path / "floors.toml"
    file.write_text('# why\n"scrubjay.old" = 5\n', encoding="utf-8")
    write_floors({"scrubjay.text": 97, "scrubjay": 90}, file)
    assert file.read_text(encoding="utf-8").startswith("# why\n")
    assert read_floors(file) == {"scrubjay": 90, "scrubjay.text": 97}
