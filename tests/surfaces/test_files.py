"""Export, import and backups from the command line."""

import json
from pathlib import Path

import pytest
from tests.surfaces.shell import remember, run, run_json

from scrubjay.errors import CODES, Conflict, InvalidInput, StoreDamaged

pytestmark = pytest.mark.usefixtures("home")


def contents(*options: str) -> set[str]:
    hits = run_json("recall", "--max-tokens", "100000", "-n", "100", *options)["hits"]
    assert isinstance(hits, list)
    return {str(hit["passage"]) for hit in hits if isinstance(hit, dict)}


def test_an_export_to_standard_output_has_no_other_output() -> None:
    remember("green tea")
    remember("a scrub jay")
    run("relate", "green-tea", "scrub")
    for arguments in (("export",), ("export", "-"), ("export", "-", "--json")):
        answer = run(*arguments)
        assert (answer.code, answer.err) == (0, "")
        assert [next(iter(json.loads(line))) for line in answer.out.splitlines()] == [
            "scrubjay", "memory", "memory", "relation",
        ]  # fmt: skip


def test_an_export_can_be_imported_again(tmp_path: Path) -> None:
    remember("green tea", "--name", "tea")
    run("revise", "tea", "--text", "black tea")
    file = tmp_path / "out.jsonl"
    answer = run("export", str(file))
    assert (answer.code, answer.out, answer.err) == (0, f"exported 1 memories to {file}\n", "")
    assert sorted(path.name for path in tmp_path.glob("out*")) == ["out.jsonl"]
    taken = run("import", str(file), "--space", "other")
    assert taken.out == "imported 1 memories and 0 relations; 0 existed already\n"
    assert contents("--space", "other") == {"black tea"}
    assert len(run("history", "tea", "--space", "other").out.splitlines()) == 3
    again = run_json("import", str(file), "--space", "other", "--no-embed")
    assert again == {"imported": 0, "known": 1, "relations": 0, "renamed": [], "duplicates": []}


def test_an_export_has_sections_on_request(tmp_path: Path) -> None:
    remember("green tea", "--name", "tea")
    run("rules", "set", "least_tags=2")
    file = tmp_path / "out.jsonl"
    assert run("export", str(file), "--with", "answers, documents,vectors").code == 0
    sections = {next(iter(json.loads(line))) for line in file.read_text(encoding="utf-8").splitlines()}
    assert sections >= {"scrubjay", "memory", "document"}
    assert run_json("import", str(file), "--space", "other")["imported"] == 1
    assert run("rules", "show", "--space", "other").out == run("rules", "show").out
    for options, message in (
        (("--with", "tokens"), "no section 'tokens'"),
        (("--with", "vectors", "--format", "kg"), "has no sections"),
    ):
        refused = run("export", *options)
        assert (refused.code, message in refused.err) == (CODES[InvalidInput].exit, True)


def test_an_import_says_what_it_renamed(tmp_path: Path) -> None:
    file = tmp_path / "out.jsonl"
    remember("green tea", "--name", "tea")
    run("export", str(file))
    remember("black tea", "--name", "tea", "--space", "other")
    assert "  renamed tea -> tea-" in run("import", str(file), "--space", "other").out


ADA = '{"type":"entity","name":"Ada","entityType":"person","observations":["likes tea"]}'
KNOWS = '{"type":"relation","from":"Ada","to":"Nobody","relationType":"knows"}'


def test_the_file_of_the_reference_server_goes_in_and_comes_out_as_it_was(tmp_path: Path) -> None:
    inputs, copy = tmp_path / "memory.jsonl", tmp_path / "copy.jsonl"
    inputs.write_text(f"{ADA}\n\n{KNOWS}", encoding="utf-8")
    taken = run("import", str(inputs))
    assert taken.out == "imported 1 memories and 1 relations; 0 existed already\n"
    assert contents() == {"likes tea"}
    assert run("export", "--format", "kg").out == f"{ADA}\n{KNOWS}\n"
    assert run("export", str(copy), "--format", "kg").out == f"exported 1 memories to {copy}\n"
    assert copy.read_text(encoding="utf-8") == f"{ADA}\n{KNOWS}\n"


def test_duplicates_in_such_a_file_are_reported(tmp_path: Path) -> None:
    inputs = tmp_path / "memory.jsonl"
    inputs.write_text(f"{ADA}\n{ADA.replace('tea', 'jam')}\n{KNOWS}\n{KNOWS}\n", encoding="utf-8")
    answer = run("import", str(inputs))
    assert answer.out.splitlines() == [
        "imported 1 memories and 1 relations; 0 existed already",
        "  duplicate, stored once: line 2: the entity Ada",
        "  duplicate, stored once: line 4: the relation Ada knows Nobody",
    ]
    assert '"observations":["likes tea","likes jam"]' in run("export", "--format", "kg").out


def test_an_unknown_format_creates_no_file(tmp_path: Path) -> None:
    answer = run("export", str(tmp_path / "out"), "--format", "xml")
    assert answer.code == CODES[InvalidInput].exit
    assert "--format must be one of scrubjay, kg" in answer.err
    assert list(tmp_path.glob("out*")) == []


def test_an_export_of_nothing() -> None:
    assert len(run("export").out.splitlines()) == 1


def test_an_export_into_a_missing_folder_is_refused(tmp_path: Path) -> None:
    answer = run("export", str(tmp_path / "missing" / "out.jsonl"))
    assert answer.code == CODES[InvalidInput].exit
    assert "cannot be written" in answer.err


def test_a_bad_line_is_named_and_nothing_is_imported(tmp_path: Path) -> None:
    remember("green tea")
    file = tmp_path / "bad.jsonl"
    file.write_text(run("export").out + "\n{oops}\n", encoding="utf-8")
    answer = run("import", str(file), "--space", "other", "--json")
    assert answer.code == CODES[InvalidInput].exit
    error = answer.error()
    assert (error["line"], str(error["message"])[:17]) == (4, "line 4: not JSON:")
    assert "there is no space" in run("list", "--space", "other").err


@pytest.mark.parametrize("content", [b"\xff\xfe\x00binary", b"PK\x03\x04\x00\xe9"])
def test_a_binary_file_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_bytes(content)
    answer = run("import", str(file))
    assert answer.code == CODES[InvalidInput].exit
    assert answer.err.startswith("error: ")
    assert "Save it as UTF-8" in answer.err


@pytest.mark.parametrize("name", ["none.jsonl", ".", "-"])
def test_a_missing_file_is_reported(tmp_path: Path, name: str) -> None:
    answer = run("import", name if name == "-" else str(tmp_path / name))
    assert answer.code == CODES[InvalidInput].exit
    assert "there is no file" in answer.err
    assert "a folder, a pipe and standard input are no files" in answer.err


@pytest.mark.embedded
def test_a_backup_is_made_verified_and_restored(tmp_path: Path, home: Path) -> None:
    remember("green tea", "--name", "tea")
    file = tmp_path / "copy.db"
    made = run("backup", "create", str(file))
    assert made.code == 0
    assert made.out == f"backed up to {file} ({file.stat().st_size:,} bytes), verified\n"
    run("revise", "tea", "--text", "black tea")
    refused = run("backup", "restore", str(file))
    assert refused.code == CODES[Conflict].exit
    assert "--force" in refused.err
    assert contents() == {"black tea"}
    restored = run("backup", "restore", str(file), "--force")
    assert restored.code == 0
    assert restored.out.startswith(f"restored 1 memories to {home / 'memory.db'}; the previous store is kept as ")
    assert contents() == {"green tea"}
    renamed = Path(restored.out.strip().split("kept as ")[1])
    assert renamed.exists()


def _texts(folder: Path, *lines: str | bytes) -> str:
    file = folder / "texts.jsonl"
    file.write_bytes(b"\n".join(line.encode() if isinstance(line, str) else line for line in lines))
    return str(file)


def test_texts_are_imported_with_the_arguments_of_remember(tmp_path: Path) -> None:
    file = _texts(
        tmp_path, '\ufeff{"text": "green tea", "name": "tea", "tags": ["drinks"]}', "",
        '{"content": "black coffee", "type": "fact", "source": {"trust": "document"}}',
    )  # fmt: skip
    assert run("import", file, "--dry-run").out == "would import 2 lines: 2 created\n"
    assert contents() == set()
    answer = run("import", file)
    assert (answer.code, answer.out) == (0, "imported 2 lines: 2 created\n")
    assert run_json("import", file, "--atomic") == {
        "lines": 2, "counts": {"unchanged": 2}, "failed": [], "dry_run": False,
    }  # fmt: skip
    tea, coffee = json.loads(run("read", "tea", "black-coffee", "--json").out)["memories"]
    assert (tea["tags"], tea["source"]["method"], tea["source"]["trust"]) == (["drinks"], "import", "user")
    assert (coffee["kind"], coffee["source"]["trust"]) == ("fact", "document")


def test_lines_that_cannot_be_stored_are_named(tmp_path: Path) -> None:
    run("rules", "set", "never=secret plan*")
    file = _texts(
        tmp_path, '{"text": "green tea"}', '{"txt": "tea"}', "tea", '["tea"]', b'{"text": "caf\xe9"}',
        '{"text": "black tea", "remind_at": "someday"}', '{"text": "the secret plan"}', '{"text": "white tea"}',
    )  # fmt: skip
    atomic = run("import", file, "--atomic", "--json")
    assert (atomic.code, atomic.json()["counts"]) == (1, {})
    assert contents() == set()
    answer = run("import", file, "--json")
    failed = answer.json()["failed"]
    assert answer.code == 1
    assert isinstance(failed, list)
    assert [(line["line"], str(line["message"])[:12]) for line in failed if isinstance(line, dict)] == [
        (2, "remember has"), (3, "not JSON: Ex"), (4, "not an objec"), (5, "not UTF-8 te"), (6, "remind_at: '"),
        (7, "rejected: pa"),
    ]  # fmt: skip
    assert contents() == {"green tea", "white tea"}
    assert "imported 2 of 8 lines: 2 unchanged" in run("import", file).out


def test_all_texts_or_none_are_imported(tmp_path: Path) -> None:
    file = _texts(tmp_path, '{"text": "green tea"}', '{"text": "black tea", "remind_at": "someday"}')
    answer = run("import", file, "--atomic")
    assert (answer.code, answer.out.splitlines()[0]) == (1, "imported 0 of 2 lines")
    assert "line 2: remind_at: 'someday'" in answer.out
    assert contents() == set()
    many = _texts(tmp_path, *(f'{{"text": "tea number {number}"}}' for number in range(1_001)))
    assert "the limit is 1,000" in run("import", many, "--atomic").err
    assert contents() == set()


def test_an_export_is_checked_whole_whatever_is_asked(tmp_path: Path) -> None:
    remember("green tea")
    file = tmp_path / "out.jsonl"
    run("export", str(file))
    answer = run("import", str(file), "--dry-run")
    assert answer.code == CODES[InvalidInput].exit
    assert "--dry-run" in answer.err


@pytest.mark.embedded
def test_a_backup_is_restored_into_a_new_folder(tmp_path: Path) -> None:
    remember("green tea")
    file = tmp_path / "copy.db"
    run("backup", "create", str(file))
    results = run_json("backup", "restore", str(file), "--data", str(tmp_path / "new"))
    assert results == {"memories": 1, "store": str(tmp_path / "new" / "memory.db"), "kept": ""}
    assert contents("--data", str(tmp_path / "new")) == {"green tea"}


def test_a_backup_does_not_overwrite(tmp_path: Path) -> None:
    remember("green tea")
    file = tmp_path / "copy.db"
    file.write_text("mine", encoding="utf-8")
    answer = run("backup", "create", str(file))
    assert answer.code == CODES[InvalidInput].exit
    assert "already" in answer.err
    assert file.read_text(encoding="utf-8") == "mine"


def test_a_backup_into_a_missing_folder_is_refused(tmp_path: Path) -> None:
    answer = run("backup", "create", str(tmp_path / "missing" / "copy.db"))
    assert answer.code != 0
    assert answer.err.startswith("error: ")


def test_an_invalid_backup_is_refused_and_the_store_stays(tmp_path: Path) -> None:
    remember("green tea")
    assert run("backup", "restore", str(tmp_path / "none.db"), "--force").code == CODES[StoreDamaged].exit
    bad = tmp_path / "bad.db"
    bad.write_bytes(b"nonsense" * 1000)
    answer = run("backup", "restore", str(bad), "--force")
    assert answer.code != 0
    assert answer.err.startswith("error: ")
    assert contents() == {"green tea"}
    assert [path.name for path in tmp_path.rglob("*.restoring*")] == []


@pytest.mark.embedded
def test_a_refused_backup_is_called_by_its_own_name(tmp_path: Path) -> None:
    bad = tmp_path / "bad.db"
    bad.write_bytes(b"nonsense" * 1000)
    answer = run("backup", "restore", str(bad), "--force")
    assert answer.err.startswith(f"error: {bad} ")
    assert "hoose another backup" in answer.err
    assert "restore a backup" not in answer.err.lower()
    bad.write_bytes(b"short")
    answer = run("backup", "restore", str(bad), "--force")
    assert answer.err == f"error: {bad} is truncated: 5 bytes are there. Choose another backup\n"
