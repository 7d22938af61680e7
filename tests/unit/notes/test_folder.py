"""The folder of notes: its files, the entries that it skips, and that no path leads out of it."""

import errno
import os
import shutil
import socket
import stat
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from tests.unit.notes.payloads import OUTSIDE, TRAVERSALS

from scrubjay.errors import FileChanged, NotFound, PathRefused, TooLarge, VaultUnavailable
from scrubjay.notes.files import tree
from scrubjay.notes.files.folder import Folder
from scrubjay.notes.files.tree import digest

ONE, TWO = b"one\n", b"two\n"


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path / "vault")
    made.open(store_id="store-1", space="default")
    return made


def test_a_new_folder_is_private_to_its_owner_and_marked(folder: Folder) -> None:
    assert _mode(folder.root) == 0o700
    assert _mode(folder.root / ".scrubjay") == 0o700
    assert _mode(folder.root / ".scrubjay" / "vault.json") == 0o600
    assert folder.exists()
    folder.open(store_id="store-1", space="default")
    assert [*folder.list_notes(), *folder.list_other_files(), *folder.list_skipped()] == []


def test_an_existing_folder_keeps_its_permissions(tmp_path: Path) -> None:
    (tmp_path / "mine" / "sub").mkdir(parents=True)
    (tmp_path / "mine").chmod(0o755)
    (tmp_path / "mine" / "sub").chmod(0o750)
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    folder = Folder(tmp_path / "link")
    folder.open(store_id="store-1", space="default")
    folder.write("sub/new.md", ONE, over=None)
    folder.write("made/by/us.md", ONE, over=None)
    assert folder.root == tmp_path / "mine"
    modes = [_mode(folder.root / name) for name in ("", "sub", "sub/new.md", "made", "made/by", "made/by/us.md")]
    assert modes == [0o755, 0o750, 0o600, 0o700, 0o700, 0o600]


@pytest.mark.parametrize(
    ("store", "space", "reason"), [("store-2", "default", "other_store"), ("store-1", "work", "other_space")]
)
def test_a_folder_of_another_store_or_space_is_refused(folder: Folder, store: str, space: str, reason: str) -> None:
    with pytest.raises(VaultUnavailable, match="--notestore_path") as caught:
        Folder(folder.root).open(store_id=store, space=space)
    assert caught.value.fields["reason"] == reason


@pytest.mark.parametrize("text", [b"", b"{}", b"[1]", b"\xff", b'{"format": 99, "store": "store-1"}', b"[" * 60_000])
def test_an_unreadable_marker_is_reported(folder: Folder, text: bytes) -> None:
    (folder.root / ".scrubjay" / "vault.json").write_bytes(text)
    with pytest.raises(VaultUnavailable, match=r"vault\.json") as caught:
        folder.open(store_id="store-1", space="default")
    assert caught.value.fields["reason"] == "marker"


def test_a_file_in_the_place_of_the_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(ONE)
    (tmp_path / "marked").mkdir()
    (tmp_path / "marked" / ".scrubjay").symlink_to(tmp_path)
    (tmp_path / "filed").mkdir()
    (tmp_path / "filed" / ".scrubjay").write_bytes(ONE)
    for name in ("file", "file/below", "marked", "filed"):
        with pytest.raises(VaultUnavailable, match="Move it away") as caught:
            Folder(tmp_path / name).open(store_id="store-1", space="default")
        assert caught.value.fields["reason"] == "in_the_way"
    assert not (tmp_path / "vault.json").exists()


def test_files_are_listed_with_their_metadata(folder: Folder) -> None:
    first = folder.write("b.md", ONE, over=None)
    second = folder.write("a/c.MD", b"", over=None)
    for name in ("picture.png", "a/song.ogg", "attachments/x.md", "attachments/y.pdf", "templates/t.md", ".hidden.md"):
        (folder.root / name).parent.mkdir(exist_ok=True)
        (folder.root / name).write_bytes(ONE)
    (folder.root / ".obsidian").mkdir()
    (folder.root / ".obsidian" / "app.md").write_bytes(ONE)
    (folder.root / "a" / "templates").mkdir()
    third = folder.write("a/templates/kept.md", TWO, over=None)
    assert list(folder.list_notes()) == [first, second, third]
    assert [other.path for other in folder.list_other_files()] == [
        "picture.png",
        "a/song.ogg",
        "attachments/x.md",
        "attachments/y.pdf",
    ]
    status = (folder.root / "b.md").stat()
    assert (first.size, first.mtime_ns, first.inode) == (status.st_size, status.st_mtime_ns, status.st_ino)
    assert folder.stat("b.md") == first
    assert folder.read("b.md") == (first, ONE)
    assert folder.stat("none.md") is None
    assert folder.stat("no/such.md") is None
    with pytest.raises(NotFound):
        folder.read("no/such.md")


def test_entries_that_are_not_files_are_reported_and_never_opened(folder: Folder, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "canary.md").write_bytes(OUTSIDE)
    root = folder.root
    (root / "link.md").symlink_to(outside / "canary.md")
    (root / "loop.md").symlink_to("loop.md")
    (root / "within.md").symlink_to("link.md")
    (root / "linked").symlink_to(outside)
    (root / "folder.md").mkdir()
    os.mkfifo(root / "pipe.md")
    (root / "locked").mkdir()
    with socket.socket(socket.AF_UNIX) as listening, _inside(root):
        listening.bind("socket.md")
    with suppress(PermissionError):
        os.mknod(root / "device.md", stat.S_IFCHR | 0o600, os.makedev(1, 5))
    os.close(os.open(os.fsencode(root) + b"/\xff.md", os.O_CREAT | os.O_WRONLY))
    names = ["link.md", "loop.md", "within.md", "folder.md", "pipe.md", "socket.md", "linked/canary.md", "linked"]
    if (root / "device.md").exists():
        names.append("device.md")
    assert list(folder.list_notes()) == []
    skipped = {entry.path: entry.reason for entry in folder.list_skipped()}
    assert skipped.keys() == {*names, r"\udcff.md"} - {"folder.md", "linked/canary.md"}
    assert "link" in skipped["linked"]
    assert "pipe" in skipped["pipe.md"]
    for name in names:
        _refuses_all(folder, name)
    assert (outside / "canary.md").read_bytes() == OUTSIDE


def test_no_path_leads_out_of_the_folder(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "canary.md").write_bytes(OUTSIDE)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "canary.md").write_bytes(OUTSIDE)
    before = _tree(tmp_path, but=folder.root)
    folder.write("a.md", ONE, over=None)
    assert len(TRAVERSALS) > 1000
    over = digest(OUTSIDE)
    for path in TRAVERSALS:
        with suppress(PathRefused):
            assert folder.stat(path) is None
        with pytest.raises((PathRefused, NotFound)):
            folder.read(path)
        with pytest.raises((PathRefused, FileChanged)):
            folder.write(path, TWO, over=over)
        with pytest.raises((PathRefused, FileChanged)):
            folder.remove(path, over=over)
        with pytest.raises((PathRefused, FileChanged)):
            folder.move(path, "moved.md", over=over)
    assert _tree(tmp_path, but=folder.root) == before
    assert [file.path for file in folder.list_notes()] == ["a.md"]


def test_no_file_is_created_outside_the_folder_or_with_an_unportable_name(folder: Folder, tmp_path: Path) -> None:
    before = _tree(tmp_path, but=folder.root)
    info = folder.write("a.md", ONE, over=None)
    made: list[str] = []
    for path in TRAVERSALS:
        try:
            folder.write(path, TWO, over=None, sync=False)
        except PathRefused:
            with pytest.raises(PathRefused):
                folder.move("a.md", path, over=digest(ONE))
        else:
            made.append(path)
    assert _tree(tmp_path, but=folder.root) == before
    assert folder.stat("a.md") == info
    # The remaining names are odd to read, and mean nothing to any system.
    assert len(made) < len(TRAVERSALS) / 5
    assert not [path for path in made if set(path) & set('\\:*?"<>|\0') or "/../" in f"/{path}/" or path[0] in "/."]
    assert {file.path for file in (*folder.list_notes(), *folder.list_other_files())} == {*made, "a.md"}


def test_a_folder_that_becomes_a_link_between_check_and_use_is_not_followed(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.md").write_bytes(ONE)
    folder.write("sub/a.md", ONE, over=None)
    real = tree._open_inner

    def open_inner(name: str, descriptor: int, *, make: bool) -> int:
        opened = real(name, descriptor, make=make)
        # The moment after the check that it is a folder.
        (folder.root / "sub").rename(tmp_path / "away")
        (folder.root / "sub").symlink_to(outside)
        return opened

    def back() -> None:
        (folder.root / "sub").unlink()
        (tmp_path / "away").rename(folder.root / "sub")

    with monkeypatch.context() as patched:
        patched.setattr(tree, "_open_inner", open_inner)
        folder.write("sub/a.md", TWO, over=digest(ONE))
        back()
        folder.write("sub/b.md", TWO, over=None)
        back()
        folder.remove("sub/a.md", over=digest(TWO))
    assert {file.name for file in outside.iterdir()} == {"a.md"}
    assert (outside / "a.md").read_bytes() == ONE
    _refuses_all(folder, "sub/a.md")


def test_a_file_that_becomes_a_pipe_between_check_and_use_does_not_block(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write("a.md", ONE, over=None)
    real = tree._require_regular

    def require_regular(path: str, status: os.stat_result) -> None:
        real(path, status)
        (folder.root / "a.md").unlink()
        os.mkfifo(folder.root / "a.md")

    monkeypatch.setattr(tree, "_require_regular", require_regular)
    with pytest.raises(PathRefused, match="pipe"):
        folder.read("a.md")


def test_a_huge_file_is_refused_by_its_size(folder: Folder) -> None:
    with (folder.root / "huge.md").open("wb") as file:
        file.truncate(100 * 1024 * 1024)
    with pytest.raises(TooLarge, match="104,857,600 bytes"):
        folder.read("huge.md")
    folder.write("a.md", ONE, over=None)
    with pytest.raises(TooLarge):
        folder.read("a.md", max_bytes=3)
    assert folder.read("a.md", max_bytes=4)[1] == ONE
    # A file whose size does not tell how much it contains.
    with Path("/dev/zero").open("rb") as endless, pytest.raises(TooLarge):
        tree.read_content("a.md", endless.fileno(), max_bytes=1000)


def test_thousands_of_files_are_listed(folder: Folder) -> None:
    for name in ("one", "two"):
        (folder.root / name).mkdir()
        for number in range(1_500):
            os.close(os.open(folder.root / name / f"{number}.md", os.O_CREAT | os.O_WRONLY))
    assert sum(1 for _ in folder.list_notes()) == 3_000


def test_a_missing_folder_is_reported_and_not_created_again(folder: Folder, tmp_path: Path) -> None:
    folder.write("a.md", ONE, over=None)
    folder.root.rename(tmp_path / "away")
    for place_is_empty in (False, True):
        if place_is_empty:
            # Like the mount point of an unmounted disk.
            folder.root.mkdir()
        assert not folder.exists()
        for refused in _all_ways(folder, "a.md"):
            with pytest.raises(VaultUnavailable, match="no memory is forgotten") as caught:
                refused()
            assert caught.value.fields["reason"] == "gone"
    assert list(folder.root.iterdir()) == []


def test_a_folder_that_disappears_during_the_listing_does_not_look_empty(folder: Folder, tmp_path: Path) -> None:
    folder.write("a.md", ONE, over=None)
    folder.write("sub/b.md", ONE, over=None)
    listing = folder.list_notes()
    assert next(listing).path == "a.md"
    shutil.rmtree(folder.root)
    with pytest.raises(VaultUnavailable):
        list(listing)


def test_missing_permissions_are_reported() -> None:
    with _other_user() as home:
        folder = Folder(home / "vault")
        folder.open(store_id="store-1", space="default")
        folder.write("a.md", ONE, over=None)
        folder.write("sub/b.md", ONE, over=None)
        (folder.root / "a.md").chmod(0)
        (folder.root / "sub").chmod(0)
        for path in ("a.md", "sub/b.md"):
            with pytest.raises(PathRefused, match="Permission denied"):
                folder.read(path)
        with pytest.raises(PathRefused):
            folder.stat("sub/b.md")
        assert [(entry.path, entry.reason) for entry in folder.list_skipped()] == [
            ("sub", "cannot be listed: Permission denied")
        ]
        (folder.root / "a.md").chmod(0o600)
        folder.root.chmod(0o500)
        for refused in (
            lambda: folder.write("new.md", ONE, over=None),
            lambda: folder.write("new/new.md", ONE, over=None),
            lambda: folder.write("a.md", TWO, over=digest(ONE)),
            lambda: folder.move("a.md", "b.md", over=digest(ONE)),
            lambda: folder.remove("a.md", over=digest(ONE)),
            lambda: Folder(folder.root / "below").open(store_id="store-1", space="default"),
        ):
            with pytest.raises(VaultUnavailable, match="permissions") as caught:
                refused()
            assert caught.value.fields["reason"] == "read_only"
        assert folder.read("a.md")[1] == ONE
        folder.root.chmod(0o700)
        (folder.root / "sub").chmod(0o700)


def test_a_full_disk_leaves_the_old_file_and_no_other(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.write("a.md", ONE, over=None)

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        for path, over in (("a.md", digest(ONE)), ("new.md", None)):
            with pytest.raises(VaultUnavailable, match="Free some space") as caught:
                folder.write(path, TWO, over=over)
            assert caught.value.fields["reason"] == "full"
    assert sorted(file.name for file in folder.root.iterdir()) == [".scrubjay", "a.md"]
    assert folder.read("a.md")[1] == ONE


def _refuses_all(folder: Folder, path: str) -> None:
    for refused in _all_ways(folder, path)[2:]:
        with pytest.raises(PathRefused):
            refused()


def _all_ways(folder: Folder, path: str) -> list[Callable[[], object]]:
    return [
        folder.sweep,
        lambda: list(folder.list_notes()),
        lambda: folder.stat(path),
        lambda: folder.read(path),
        lambda: folder.write(path, TWO, over=digest(ONE)),
        lambda: folder.move(path, "moved.md", over=digest(ONE)),
        lambda: folder.remove(path, over=digest(ONE)),
    ]


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _tree(top: Path, *, but: Path) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes() if path.is_file() else b""
        for path in top.rglob("*")
        if but != path and but not in path.parents
    }


@contextmanager
def _inside(place: Path) -> Generator[None]:
    # The name of a socket has at most a hundred bytes.
    before = Path.cwd()
    os.chdir(place)
    yield
    os.chdir(before)


@contextmanager
def _other_user() -> Generator[Path]:
    """Run the block as a user without special rights, in a home folder of its own."""
    home = Path(tempfile.mkdtemp())
    user = 65534 if os.geteuid() == 0 else os.geteuid()
    before = os.geteuid()
    os.chown(home, user, -1)
    os.seteuid(user)
    try:
        yield home
    finally:
        os.seteuid(before)
        shutil.rmtree(home)
