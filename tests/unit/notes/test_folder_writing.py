"""Writing, moving and removing notes: always whole, and never over content that we have not read."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.patience import PATIENCE

from scrubjay.errors import FileChanged, PathRefused
from scrubjay.notes.files import atomic_rename, atomic_write
from scrubjay.notes.files.atomic_write import new_file_name, swap_file_name
from scrubjay.notes.files.folder import Folder
from scrubjay.notes.files.tree import digest

ONE, TWO, THREE, FOUR = b"one\n", b"two\n", b"three\n", b"four\n"


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path / "vault")
    made.open(store_id="store-1", space="default")
    return made


@pytest.fixture(params=["exchange", "links", "neither"])
def any_folder(folder: Folder, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """Run on file systems that can exchange names, that have links, and that have neither."""
    if request.param != "exchange":
        monkeypatch.setattr(atomic_rename, "_rename_call", lambda: None)
    if request.param == "neither":
        monkeypatch.setattr(os, "link", _no_links)
    return folder


def test_files_are_written_moved_and_removed(any_folder: Folder) -> None:
    folder = any_folder
    first = folder.write("a.md", ONE, over=None)
    second = folder.write("a.md", TWO, over=digest(ONE))
    assert folder.read("a.md") == (second, TWO)
    assert second.inode != first.inode
    assert folder.write("a.md", TWO, over=digest(TWO)) == second
    moved = folder.move("a.md", "sub/b.md", over=digest(TWO))
    assert folder.read("sub/b.md") == (moved, TWO)
    assert (moved.inode, moved.mtime_ns, moved.size) == (second.inode, second.mtime_ns, second.size)
    folder.remove("sub/b.md", over=digest(TWO))
    folder.sync(["a.md", "sub/b.md", "none/c.md"])
    assert _files(folder) == {}


def test_a_file_that_has_changed_is_left_alone(any_folder: Folder) -> None:
    folder = any_folder
    folder.write("a.md", ONE, over=None)
    folder.write("b.md", TWO, over=None)
    before = _files(folder)
    for refused in (
        lambda: folder.write("a.md", THREE, over=digest(TWO)),
        lambda: folder.write("a.md", THREE, over=None),
        lambda: folder.move("a.md", "c.md", over=digest(TWO)),
        lambda: folder.move("a.md", "b.md", over=digest(ONE)),
        lambda: folder.remove("a.md", over=digest(TWO)),
    ):
        with pytest.raises(FileChanged) as caught:
            refused()
        assert not caught.value.fields.get("gone")
    for refused in (
        lambda: folder.write("none.md", THREE, over=digest(ONE)),
        lambda: folder.write("no/such.md", THREE, over=digest(ONE)),
        lambda: folder.move("none.md", "d.md", over=digest(ONE)),
        lambda: folder.remove("none.md", over=digest(ONE)),
    ):
        with pytest.raises(FileChanged) as caught:
            refused()
        assert caught.value.fields["gone"]
    assert _files(folder) == before


def test_only_regular_files_are_replaced(folder: Folder, tmp_path: Path) -> None:
    (folder.root / "link.md").symlink_to(tmp_path / "outside.md")
    (folder.root / "folder.md").mkdir()
    folder.write("a.md", ONE, over=None)
    for path in ("link.md", "folder.md"):
        with pytest.raises(FileChanged):
            folder.write(path, ONE, over=None)
        with pytest.raises(FileChanged):
            folder.move("a.md", path, over=digest(ONE))
    with pytest.raises(PathRefused):
        folder.write("a.md/b.md", ONE, over=None)
    assert not (tmp_path / "outside.md").exists()


@pytest.mark.parametrize("by_rename", [True, False])
def test_a_save_in_the_last_moment_is_never_lost(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, *, by_rename: bool
) -> None:
    folder.write("a.md", ONE, over=None)
    _before(monkeypatch, atomic_write, "exchange", lambda: _save(folder, THREE, by_rename=by_rename))
    with pytest.raises(FileChanged):
        folder.write("a.md", TWO, over=digest(ONE))
    assert _files(folder) == {"a.md": THREE}


def test_two_saves_around_the_last_moment_are_both_kept(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.write("a.md", ONE, over=None)
    saves = iter((THREE, FOUR))
    _before(monkeypatch, atomic_write, "exchange", lambda: _save(folder, next(saves, b""), by_rename=True), times=2)
    with pytest.raises(FileChanged):
        folder.write("a.md", TWO, over=digest(ONE))
    files = _files(folder)
    assert files.pop("a.md") == FOUR
    assert list(files.values()) == [THREE]
    assert next(iter(files)).startswith("recovered-")


def test_a_file_deleted_in_the_last_moment_is_not_created_again(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for verb in (
        lambda: folder.write("a.md", TWO, over=digest(ONE)),
        lambda: folder.move("a.md", "b.md", over=digest(ONE)),
    ):
        folder.write("a.md", ONE, over=None)
        with monkeypatch.context() as patched:
            for name in ("exchange", "rename_new"):
                _before(patched, atomic_write, name, (folder.root / "a.md").unlink)
            with pytest.raises(FileChanged) as caught:
                verb()
        assert caught.value.fields["gone"]
        assert _files(folder) == {}


def test_a_file_that_is_deleted_while_a_late_save_is_put_back_comes_back(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write("a.md", ONE, over=None)
    _before(monkeypatch, atomic_write, "exchange", lambda: _save(folder, THREE, by_rename=True))
    _before(monkeypatch, atomic_write, "_swap_back", (folder.root / "a.md").unlink)
    with pytest.raises(FileChanged):
        folder.write("a.md", TWO, over=digest(ONE))
    assert _files(folder) == {"a.md": THREE}


def test_a_save_while_it_is_removed_or_moved_is_never_lost(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.write("a.md", ONE, over=None)
    with monkeypatch.context() as patched:
        _before(patched, os, "rename", lambda: _save(folder, THREE, by_rename=False))
        with pytest.raises(FileChanged):
            folder.remove("a.md", over=digest(ONE))
    assert _files(folder) == {"a.md": THREE}
    with monkeypatch.context() as patched:
        _before(patched, atomic_write, "rename_new", lambda: _save(folder, FOUR, by_rename=False))
        with pytest.raises(FileChanged):
            folder.move("a.md", "b.md", over=digest(THREE))
    assert _files(folder) == {"a.md": FOUR}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux reports which files are open")
def test_a_file_that_a_program_has_open_to_write_is_left_to_it(folder: Folder) -> None:
    folder.write("a.md", ONE, over=None)
    with (folder.root / "a.md").open("ab", buffering=0) as theirs:
        for refused in (
            lambda: folder.write("a.md", TWO, over=digest(ONE)),
            lambda: folder.remove("a.md", over=digest(ONE)),
        ):
            with pytest.raises(FileChanged, match="open in a program") as caught:
                refused()
            assert caught.value.fields["busy"]
        folder.move("a.md", "b.md", over=digest(ONE))
        theirs.write(THREE)
    assert _files(folder) == {"b.md": ONE + THREE}
    with (folder.root / "b.md").open("rb"):
        folder.write("b.md", TWO, over=digest(ONE + THREE))


def test_a_file_system_that_reports_every_file_as_open_does_not_prevent_writes(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(atomic_write, "is_being_written", _always)
    folder.write("a.md", ONE, over=None)
    folder.write("a.md", TWO, over=digest(ONE))
    assert _files(folder) == {"a.md": TWO}
    folder.remove("a.md", over=digest(TWO))
    assert _files(folder) == {}


def test_concurrent_writes_lose_no_save_of_an_editor(folder: Folder) -> None:
    folder.write("a.md", ONE, over=None)
    read: set[bytes] = set()
    unread: list[bytes] = []
    is_over = threading.Event()
    news = threading.Condition()

    def edit() -> None:
        for number in range(60):
            save = f"save {number}\n".encode()
            _save(folder, save, by_rename=number % 2 == 0)
            with news:
                # If we replace a save without reading it, it is never read.
                if not news.wait_for(lambda save=save: save in read, timeout=PATIENCE):
                    unread.append(save)
        is_over.set()

    editor = threading.Thread(target=edit)
    editor.start()
    number = 0
    while not is_over.is_set():
        try:
            data = folder.read("a.md")[1]
            with news:
                read.add(data)
                news.notify()
            number += 1
            folder.write("a.md", f"ours {number}\n".encode(), over=digest(data), sync=False)
        except FileChanged:
            continue
    editor.join()
    assert unread == []
    # An editor that writes in place has an empty file for an instant, which is no content to lose.
    assert {file for file in _files(folder).values() if file.startswith(b"save")} <= read


def test_leftovers_of_a_crash_are_removed_and_the_saves_of_users_recovered(folder: Folder) -> None:
    folder.write("sub/a.md", ONE, over=None)
    swaps = [swap_file_name(new=digest(TWO), over=digest(ONE)) for _ in range(3)]
    left = {new_file_name(): b"half a te", swaps[0]: ONE, swaps[1]: TWO, swaps[2]: THREE}
    for name, data in left.items():
        (folder.root / "sub" / name).write_bytes(data)
    (folder.root / ".scrubjay-notes.md").write_bytes(FOUR)
    (folder.root / new_file_name()).symlink_to(folder.root / "sub" / "a.md")
    assert folder.sweep() == 4
    files = _files(folder)
    assert files.pop("sub/a.md") == ONE
    assert files.pop(".scrubjay-notes.md") == FOUR
    assert [name[:14] for name in files if files[name] == THREE] == ["sub/recovered-"]
    assert folder.sweep() == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may write as another user")
def test_a_replaced_file_keeps_its_owner(folder: Folder) -> None:
    folder.write("a.md", ONE, over=None)
    os.chown(folder.root / "a.md", 65534, 65533)
    folder.write("a.md", TWO, over=digest(ONE))
    status = (folder.root / "a.md").stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o777) == (65534, 65533, 0o600)


def test_a_name_that_differs_only_by_case_is_taken_where_the_file_system_says_so(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On such a file system, both spellings are one file.
    folder.write("a.md", ONE, over=None)
    os.link(folder.root / "a.md", folder.root / "A.md")
    with pytest.raises(FileChanged, match="already"):
        folder.write("A.md", TWO, over=None)
    assert folder.move("a.md", "A.md", over=digest(ONE)).path == "A.md"
    assert (folder.root / "A.md").read_bytes() == ONE


def test_a_crash_at_any_line_leaves_the_old_or_the_new(tmp_path: Path) -> None:
    program = Path(__file__).with_name("crashing.py")
    done = subprocess.run([sys.executable, program, tmp_path], capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.startswith("whole"), done.stderr


def _save(folder: Folder, data: bytes, *, by_rename: bool) -> None:
    """Save as editors do."""
    target = folder.root / "a.md"
    if not by_rename:
        target.write_bytes(data)
        return
    (folder.root / ".a.md.swp").write_bytes(data)
    os.replace(folder.root / ".a.md.swp", target)  # noqa: PTH105 - the tests patch the functions that Path uses


def _before(
    monkeypatch: pytest.MonkeyPatch, module: object, name: str, act: Callable[[], object], *, times: int = 1
) -> None:
    """Run `act` right before a step, and then the step itself."""
    real = getattr(module, name)
    left = times

    def step(*args: object, **options: object) -> object:
        nonlocal left
        left -= 1
        if left >= 0:
            act()
        return real(*args, **options)

    monkeypatch.setattr(module, name, step)


def _always(_: int) -> bool:
    return True


def _no_links(*_: object, **__: object) -> None:
    raise PermissionError(1, "Operation not permitted")


def _files(folder: Folder) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder.root)): path.read_bytes()
        for path in folder.root.rglob("*")
        if path.is_file() and not path.is_symlink() and ".scrubjay/" not in str(path)
    }
