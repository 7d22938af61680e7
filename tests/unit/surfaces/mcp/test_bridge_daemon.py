"""The variables of a client's environment that go to the daemon it starts."""

import pytest

from scrubjay.settings import Settings
from scrubjay.surfaces.mcp.bridge.daemon import daemon_environment

FOLDER = "/home/jay/project"


@pytest.mark.parametrize(
    "name",
    [
        *("SCRUBJAY_SPACE", "SCRUBJAY_AGENT", "SCRUBJAY_TOOLS"),
        *("PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "LD_PRELOAD", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES"),
        *("OPENAI_API_KEY", "GITHUB_TOKEN", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK"),
        *("PWD", "OLDPWD", "MY_SCRUBJAY_KEY", "PROXY_PASSWORD", "VIRTUAL_ENV_PROMPT", "HOMEPAGE"),
    ],
)
def test_variables_of_the_client_or_of_other_programs_are_not_passed_on(name: str) -> None:
    assert daemon_environment({name: "x"}, folder=FOLDER) == {}


@pytest.mark.parametrize(
    "name",
    [
        *("SCRUBJAY_KEY", "SCRUBJAY_KEYRING", "SCRUBJAY_EMBEDDER", "SCRUBJAY_HTTP", "SCRUBJAY_OF_A_LATER_VERSION"),
        *("HOME", "PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"),
        *("http_proxy", "HTTPS_PROXY", "all_proxy", "no_proxy", "NO_PROXY", "DBUS_SESSION_BUS_ADDRESS"),
        *("SYSTEMROOT", "LOCALAPPDATA", "__CF_USER_TEXT_ENCODING"),
    ],
)
def test_variables_of_the_daemon_are_passed_on_unchanged(name: str) -> None:
    assert daemon_environment({name: "as it is"}, folder=FOLDER) == {name: "as it is"}


@pytest.mark.parametrize(
    "name",
    [
        *("SCRUBJAY_HOME", "MEMORY_DIR", "SCRUBJAY_KEY_FILE", "SCRUBJAY_INDEX_PATH", "TMPDIR", "VIRTUAL_ENV"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"),
    ],
)
def test_paths_start_where_the_client_works(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/jay")
    for arguments, expected in (
        ("secret/key", f"{FOLDER}/secret/key"),
        ("../key", "/home/jay/key"),
        ("~/key", "/home/jay/key"),
        ("/etc/key", "/etc/key"),
        ("", ""),
    ):
        assert daemon_environment({name: arguments}, folder=FOLDER) == {name: expected}


@pytest.mark.parametrize(
    ("model", "expected"), [("BAAI/bge-m3", "BAAI/bge-m3"), ("./models/bge", f"{FOLDER}/models/bge"), ("/m", "/m")]
)
def test_a_model_is_a_name_unless_it_can_only_be_a_folder(model: str, expected: str) -> None:
    name = "SCRUBJAY_EMBEDDING_MODEL"
    assert daemon_environment({name: model}, folder=FOLDER) == {name: expected}


def test_the_daemon_reads_the_same_settings_as_the_client() -> None:
    arguments = {"SCRUBJAY_HOME": "/jay", "SCRUBJAY_INDEX_PATH": "/fast", "SCRUBJAY_READERS": "7", "SCRUBJAY_KEY": "k"}
    assert Settings.load(environment=daemon_environment(arguments, folder="/")) == Settings.load(environment=arguments)


def test_without_a_working_folder_paths_stay_as_they_are() -> None:
    assert daemon_environment({"SCRUBJAY_KEY_FILE": "key"}, folder="") == {"SCRUBJAY_KEY_FILE": "key"}
