"""The encryption key: from the environment, a file, or the system keyring."""

from importlib import import_module
from pathlib import Path

from scrubjay.errors import InvalidInput, WrongKey
from scrubjay.settings import Settings

_SERVICE = "scrubjay"


def encryption_key(settings: Settings) -> str:
    """Return the key of the settings; empty means that the store is not encrypted."""
    chosen = [name for name in ("key", "key_file", "keyring") if getattr(settings, name)]
    if len(chosen) > 1:
        raise InvalidInput(f"the encryption key is given twice: {' and '.join(chosen)}", hint="Keep one of them")
    if settings.key_file:
        return _from_file(Path(settings.key_file).expanduser())
    if settings.keyring:
        return _from_keyring(settings.keyring)
    return settings.key


def _from_file(path: Path) -> str:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise WrongKey(f"the key file {path} cannot be read", hint="Check SCRUBJAY_KEY_FILE", path=str(path)) from error
    if not lines or not lines[0].strip():
        raise WrongKey(f"the key file {path} is empty", hint="Put the key on its first line", path=str(path))
    return lines[0].strip()


def _from_keyring(name: str) -> str:
    try:
        keyring = import_module("keyring")
    except ImportError as error:
        raise WrongKey(
            "the keyring package is not installed", hint="pip install 'scrubjay[keyring]', or use SCRUBJAY_KEY_FILE"
        ) from error
    password: object = keyring.get_password(_SERVICE, name)
    if not isinstance(password, str) or not password:
        raise WrongKey(
            f"the keyring has no password for service {_SERVICE!r} and name {name!r}",
            hint=f"Set it with `keyring set {_SERVICE} {name}`",
        )
    return password
