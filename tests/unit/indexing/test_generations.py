"""The folder of generations: one holder, one current generation, no unfinished builds, no foreign files touched."""

import subprocess
import sys
from pathlib import Path

import pytest

from scrubjay.errors import IndexUnavailable
from scrubjay.indexing.generations import Generations, condemn, is_condemned


def claim_folder(folder: Path) -> Generations:
    generations = Generations(folder)
    assert generations.claim()
    return generations


def make_generation(generations: Generations) -> Path:
    """Create a generation and make it current."""
    draft = generations.draft()
    draft.mkdir()
    (draft / "file").write_text("x")
    generation = generations.adopt(draft)
    generations.make_current(generation)
    return generation


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"lock"}


class TestHolding:
    def test_only_one_holds_it(self, tmp_path: Path) -> None:
        first, second = Generations(tmp_path / "i"), Generations(tmp_path / "i")
        assert not first.is_held
        assert first.claim()
        assert first.claim()
        assert not second.claim()
        first.release()
        assert not first.is_held
        assert second.claim()
        assert not first.claim()

    def test_a_killed_process_releases_the_lock(self, tmp_path: Path) -> None:
        code = (
            "import fcntl, sys\n"
            "file = open(sys.argv[1], 'w')\n"
            "fcntl.flock(file, fcntl.LOCK_EX)\n"
            "print('held', flush=True)\n"
            "sys.stdin.read()\n"
        )
        (tmp_path / "i").mkdir()
        with subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path / "i" / "lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == b"held\n"
            generations = Generations(tmp_path / "i")
            assert not generations.claim()
            other.kill()
            other.wait()
            assert generations.claim()

    def test_a_folder_that_cannot_be_created_cannot_be_held(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("x")
        assert not Generations(tmp_path / "file" / "index").claim()


class TestTurning:
    def test_the_first_and_the_next(self, tmp_path: Path) -> None:
        generations = claim_folder(tmp_path / "i")
        assert generations.current() is None
        first = make_generation(generations)
        assert first.name == "gen-0001"
        assert generations.current() == first
        second = make_generation(generations)
        assert second.name == "gen-0002"
        assert generations.current() == second
        generations.remove_others()
        assert names(tmp_path / "i") == {"gen-0002", "CURRENT"}

    def test_two_drafts_are_never_the_same(self, tmp_path: Path) -> None:
        generations = claim_folder(tmp_path / "i")
        assert generations.draft() != generations.draft()

    def test_the_next_start_removes_what_a_crash_left(self, tmp_path: Path) -> None:
        generations = claim_folder(tmp_path / "i")
        current = make_generation(generations)
        generations.draft().mkdir()
        half = generations.draft()
        half.mkdir()
        generations.adopt(half)
        (tmp_path / "i" / "CURRENT.new").write_text("gen-00")
        generations.release()
        again = claim_folder(tmp_path / "i")
        assert again.current() == current
        assert names(tmp_path / "i") == {"gen-0001", "CURRENT", "CURRENT.new"}

    def test_foreign_files_are_left_alone(self, tmp_path: Path) -> None:
        (tmp_path / "genealogy").mkdir()
        (tmp_path / "gen-0001.txt").write_text("x")
        (tmp_path / "gen-12").mkdir()
        claim_folder(tmp_path).remove_all()
        assert names(tmp_path) == {"genealogy", "gen-0001.txt", "gen-12"}

    @pytest.mark.parametrize("text", [b"", b"\n", b"gen-1", b"../gen-0001", b"/gen-0001", b"gen-0001/..", b"\xff\xfe"])
    def test_an_invalid_current_file_names_no_generation(self, tmp_path: Path, text: bytes) -> None:
        generations = claim_folder(tmp_path)
        make_generation(generations)
        (tmp_path / "CURRENT").write_bytes(text)
        assert generations.current() is None

    def test_all_can_be_removed(self, tmp_path: Path) -> None:
        generations = claim_folder(tmp_path)
        make_generation(generations)
        generations.remove_all()
        generations.remove_all()
        assert generations.current() is None
        assert names(tmp_path) == set()


class TestCondemned:
    def test_a_condemned_generation_does_not_outlive_its_holder(self, tmp_path: Path) -> None:
        generations = claim_folder(tmp_path)
        first = make_generation(generations)
        condemn(first)
        assert is_condemned(first)
        generations.release()
        assert claim_folder(tmp_path).current() is None
        assert names(tmp_path) == {"CURRENT"}

    def test_the_next_generation_is_not_condemned(self, tmp_path: Path) -> None:
        generations = claim_folder(tmp_path)
        condemn(make_generation(generations))
        second = make_generation(generations)
        assert not is_condemned(second)
        assert generations.current() == second

    def test_a_folder_that_is_gone_is_an_unavailable_index(self, tmp_path: Path) -> None:
        with pytest.raises(IndexUnavailable):
            condemn(tmp_path / "gone")
