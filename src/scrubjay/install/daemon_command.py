"""What a service runs: the daemon of one data folder, with the settings of whoever installs it."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from scrubjay.errors import InvalidInput
from scrubjay.install.program import own_command
from scrubjay.paths import daemon_log
from scrubjay.settings import Settings

MARK = "Written by `scrubjay service install`; `scrubjay service uninstall` removes it."
# Handed over as options, or of no use to a daemon.
_APART = ("home", "space", "agent", "http", "tools", "index_path", "notestore_path")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A command, and the variables it needs. `secrets` are those that must not be written down."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    log: Path
    secrets: tuple[str, ...] = ()


def daemon_job(settings: Settings) -> Job:
    """The daemon with these settings, whatever the environment that it will be started in."""
    usual = Settings()
    options = {
        "--data": str(settings.data),
        "--space": "" if settings.space == usual.space else settings.space,
        "--http": "" if settings.http == usual.http else settings.http,
        "--tools": "" if settings.tools == usual.tools else settings.tools,
        "--index_path": str(settings.index) if settings.index_path else "",
        "--notestore_path": str(settings.notestore) if settings.notestore_path else "",
    }
    chosen = [
        field
        for field in fields(settings)
        if field.name not in _APART and getattr(settings, field.name) != field.default
    ]  # fmt: skip
    job = Job(
        command=(*own_command(), "serve", *(f"{name}={value}" for name, value in options.items() if value)),
        environment={item.metadata["env"]: _spelled(item.name, settings) for item in chosen if item.repr},
        log=daemon_log(settings.data),
        secrets=tuple(item.metadata["env"] for item in chosen if not item.repr),
    )
    _check(job)
    return job


def _spelled(name: str, settings: Settings) -> str:
    value: object = getattr(settings, name)
    if name == "key_file":
        return str(Path(str(value)).expanduser().absolute())
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check(job: Job) -> None:
    for word in (*job.command, *job.environment.values()):
        try:
            word.encode()
        except UnicodeEncodeError:
            raise InvalidInput(f"{word!r} is not text in UTF-8, as a service's file must be") from None
        if "\0" in word:
            raise InvalidInput(f"{word!r} cannot be handed to a program")
