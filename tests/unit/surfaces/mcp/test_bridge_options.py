"""Options of the bridge from the command line, the environment and the working folder."""

from pathlib import Path

import pytest

from scrubjay.surfaces.mcp.bridge.options import InvalidOption, project_of, read_options


def test_the_command_line_wins_over_the_environment() -> None:
    environment = {"SCRUBJAY_HOME": "/jay", "SCRUBJAY_SPACE": "home", "SCRUBJAY_AGENT": "owl", "SCRUBJAY_TOOLS": "kg"}
    options = read_options(["--space", "work", "--tools=core,kg", "--project=a=b"], environment=environment)
    assert (options.space, options.agent, options.tools) == ("work", "owl", "core,kg")
    assert (options.project, options.data) == ("a=b", Path("/jay"))
    assert read_options(["--data=/elsewhere"], environment=environment).data == Path("/elsewhere")


def test_an_option_may_be_given_as_nothing() -> None:
    options = read_options(["--project=", "--space="], environment={"SCRUBJAY_SPACE": "home"})
    assert (options.project, options.space) == ("", "")


@pytest.mark.parametrize(("value", "may_start"), [("", True), ("0", True), ("1", False), ("true", False)])
def test_the_environment_may_forbid_to_start_a_daemon(value: str, may_start: bool) -> None:
    assert read_options([], environment={"SCRUBJAY_NO_DAEMON": value}).may_start is may_start


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--spaces", "x"], "'--spaces'"),
        (["space=x"], "'space=x'"),
        (["-s", "x"], "'-s'"),
        (["--"], "'--'"),
        (["--space"], "--space needs a value"),
        (["--space", "--agent", "x"], "--space needs a value"),
        (["--agent", "caf\udce9"], "--agent is not text"),
    ],
)
def test_an_invalid_option_gives_a_clear_error(arguments: list[str], words: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        read_options(arguments, environment={})
    assert words in str(caught.value)
    str(caught.value).encode()


def test_an_environment_that_is_not_text_is_named() -> None:
    with pytest.raises(InvalidOption, match="SCRUBJAY_SPACE is not text"):
        read_options([], environment={"SCRUBJAY_SPACE": "caf\udce9"})


def test_the_project_is_the_repository_that_one_works_in(tmp_path: Path) -> None:
    deep = tmp_path / "nest" / "src" / "inner"
    deep.mkdir(parents=True)
    assert project_of(str(deep)) == "inner"
    (tmp_path / "nest" / ".git").mkdir()
    assert project_of(str(deep)) == "nest"
    (deep / ".git").write_text("gitdir: ../../.git/worktrees/inner")
    assert project_of(str(deep)) == "inner"


def test_neither_a_home_nor_the_root_is_a_project(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "letters").mkdir()
    assert project_of(str(tmp_path), home=str(tmp_path)) == ""
    # A home folder that is a repository is not a project.
    assert project_of(str(tmp_path / "letters"), home=str(tmp_path)) == "letters"
    assert project_of("/") == ""
    assert project_of("") == ""


def test_a_home_by_another_name_is_still_home(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert project_of(str(tmp_path / "real"), home=str(tmp_path / "link")) == ""


def test_a_folder_whose_name_is_no_text_gives_a_project_that_is(tmp_path: Path) -> None:
    folder = tmp_path / "caf\udce9"
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("this disk takes only names in UTF-8")
    assert project_of(str(folder)) == "caf\ufffd"
