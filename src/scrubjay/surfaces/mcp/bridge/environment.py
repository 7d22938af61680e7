"""What a daemon gets of the environment of the client that happens to start it.

It serves all clients for long: nothing of one client's own goes with it, nor secrets that are not Scrubjay's, nor what
makes Python load other code. Paths are made absolute, for the daemon works in another folder.
"""

import os
from collections.abc import Mapping

_OURS = "SCRUBJAY_"
_PERSONAL = ("SCRUBJAY_AGENT", "SCRUBJAY_SPACE", "SCRUBJAY_TOOLS")
_NEEDED = frozenset(
    (
        *("MEMORY_DIR", "HOME", "PATH", "LANG", "LANGUAGE", "TZ", "TMPDIR", "USER", "LOGNAME", "VIRTUAL_ENV"),
        # Whom to trust on the network.
        *("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
        # The keyring that may hold the encryption key.
        *("DBUS_SESSION_BUS_ADDRESS", "PYTHON_KEYRING_BACKEND"),
        # Where sentence-transformers keeps its models, and whether it may look for others.
        *("HF_HOME", "HF_HUB_CACHE", "HF_HUB_OFFLINE", "SENTENCE_TRANSFORMERS_HOME", "TORCH_HOME"),
        # What Python itself needs on macOS and Windows.
        *("__CF_USER_TEXT_ENCODING", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP"),
        *("USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA"),
    )
)
_NEEDED_BEGINNINGS = (_OURS, "LC_", "XDG_", "SSL_CERT_")
_PATHS = frozenset(
    (
        *("SCRUBJAY_HOME", "SCRUBJAY_INDEX_PATH", "SCRUBJAY_NOTESTORE_PATH", "SCRUBJAY_KEY_FILE"),
        *("MEMORY_DIR", "TMPDIR", "VIRTUAL_ENV"),
        *("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"),
        *("HF_HOME", "HF_HUB_CACHE", "SENTENCE_TRANSFORMERS_HOME", "TORCH_HOME"),
    )
)
# The name of a model, or a folder with one: only what cannot be a name is taken for a path.
_MODEL = "SCRUBJAY_EMBEDDING_MODEL"


def daemon_environment(environment: Mapping[str, str], *, folder: str) -> dict[str, str]:
    """Of an environment what a daemon needs; `folder` is where its relative paths start."""
    return {
        name: _from(folder, value) if _is_path(name, value) else value
        for name, value in environment.items()
        if _is_needed(name)
    }


def _is_needed(name: str) -> bool:
    if name in _PERSONAL:
        return False
    return name in _NEEDED or name.startswith(_NEEDED_BEGINNINGS) or name.upper().endswith("_PROXY")


def _is_path(name: str, value: str) -> bool:
    if name == _MODEL:
        return value.startswith(("./", "../"))
    return name in _PATHS and bool(value)


def _from(folder: str, path: str) -> str:
    return os.path.normpath(os.path.join(folder, os.path.expanduser(path)))  # noqa: PTH111, PTH118 - for text
