"""Files of other programs: replaced atomically, with their permissions and owner."""

import os
import stat
from pathlib import Path

import pytest

from scrubjay.errors import Conflict, DiskFull, InvalidInput, StoreReadOnly, TooLarge
from scrubjay.install.files import MAX_BYTES, read_file, remove_file, replace_file


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("bits", [0o600, 0o640, 0o664, 0o755])
def test_a_file_keeps_its_mode_and_a_copy_of_its_old_content(tmp_path: Path, bits: int) -> None:
    file = tmp_path / "a.json"
    file.write_bytes(b"old")
    file.chmod(bits)
    copy = tmp_path / "a.json.before-scrubjay"
    assert replace_file(read_file(file), b"new") == copy
    assert (file.read_bytes(), copy.read_bytes()) == (b"new", b"old")
    assert mode(file) == bits
    # Only the owner may read the copy.
    assert mode(copy) & 0o077 == 0
    assert names(tmp_path) == ["a.json", "a.json.before-scrubjay"]


def test_a_file_keeps_its_owner(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only the superuser can change the owner of a file")
    file = tmp_path / "a.json"
    file.write_bytes(b"old")
    os.chown(file, 12345, 12346)
    replace_file(read_file(file), b"new")
    assert (file.stat().st_uid, file.stat().st_gid) == (12345, 12346)


def test_the_first_copy_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_bytes(b"first")
    replace_file(read_file(file), b"second")
    replace_file(read_file(file), b"third")
    assert (tmp_path / "a.json.before-scrubjay").read_bytes() == b"first"


def test_only_the_user_can_read_a_new_file_and_its_folders(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "er" / "a.json"
    before = read_file(file)
    assert (before.data, before.text) == (None, "")
    assert replace_file(before, b"new") is None
    assert (mode(file), mode(file.parent), mode(file.parent.parent)) == (0o600, 0o700, 0o700)
    assert names(file.parent) == ["a.json"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "home").mkdir()
    real, link = tmp_path / "dotfiles" / "mcp.json", tmp_path / "home" / "mcp.json"
    real.write_bytes(b"old")
    link.symlink_to("../dotfiles/mcp.json")
    replace_file(read_file(link), b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert names(real.parent) == ["mcp.json"]
    assert names(link.parent) == ["mcp.json", "mcp.json.before-scrubjay"]


def test_the_missing_target_of_a_link_is_created(tmp_path: Path) -> None:
    link = tmp_path / "mcp.json"
    link.symlink_to("dotfiles/mcp.json")
    replace_file(read_file(link), b"new")
    assert link.is_symlink()
    assert (tmp_path / "dotfiles" / "mcp.json").read_bytes() == b"new"


def test_a_circular_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_file(tmp_path / "a")


def test_even_the_superuser_does_not_change_a_read_only_file(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_bytes(b"old")
    file.chmod(0o400)
    with pytest.raises(StoreReadOnly, match="read-only"):
        replace_file(read_file(file), b"new")
    assert file.read_bytes() == b"old"
    assert names(tmp_path) == ["a.json"]


def test_a_folder_or_a_pipe_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="is a folder"):
        read_file(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidInput, match="is not a regular file"):
        read_file(tmp_path / "pipe")


def test_an_impossible_path_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_file(tmp_path / "file" / "a.json")
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_file(tmp_path / ("x" * 300))
    with pytest.raises(InvalidInput, match="is not a valid path"):
        read_file(Path("a\0b"))


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    with file.open("wb") as target:
        target.truncate(MAX_BYTES + 1)
    with pytest.raises(TooLarge, match="--print"):
        read_file(file)


def test_the_error_about_invalid_utf_8_has_the_position(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text("{}", encoding="utf-16")
    with pytest.raises(InvalidInput, match="not UTF-8 text at byte 0"):
        _ = read_file(file).text


def test_a_byte_order_mark_stays(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_bytes(b"\xef\xbb\xbf{}")
    before = read_file(file)
    assert before.text == "{}"
    assert before.encode("[]") == b"\xef\xbb\xbf[]"


def test_a_change_by_another_program_in_the_meantime_is_not_lost(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_bytes(b"old")
    before = read_file(file)
    file.write_bytes(b"theirs")
    with pytest.raises(Conflict, match="in the meantime"):
        replace_file(before, b"ours")
    assert file.read_bytes() == b"theirs"
    assert names(tmp_path) == ["a.json"]


def test_a_full_disk_changes_nothing() -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this machine has no /dev/full")
    with pytest.raises(DiskFull, match="nothing was changed"):
        _fill(full)


def _fill(path: Path) -> None:
    from scrubjay.install.files import _system_errors

    with _system_errors(path, "written"), path.open("wb", buffering=0) as target:
        target.write(b"x")


def test_removing_a_file_twice_is_fine(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"")
    remove_file(file)
    remove_file(file)
    assert names(tmp_path) == []
