"""Commands that a daemon carries out for the process of a user: parsed, called and rendered here."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import cache
from typing import cast

import typer

from scrubjay.client import MemoryClient
from scrubjay.errors import Busy, DaemonUnavailable, ScrubjayError, codes_of
from scrubjay.model.caller import Caller
from scrubjay.model.memory import Json
from scrubjay.paths import data_folder, known_socket
from scrubjay.rpc.client import RpcClient
from scrubjay.rpc.socket_transport import SocketTransport
from scrubjay.settings import Settings
from scrubjay.surfaces.cli.by_daemon import SERVED
from scrubjay.surfaces.cli.command import (
    TypedCommand,
    describe_error,
    exit_code,
    load_settings,
    require_space,
    result_as_json,
    typed,
)
from scrubjay.surfaces.cli.console import collect_lines, print_error
from scrubjay.surfaces.cli.main import app
from scrubjay.surfaces.cli.options import sent_stdin
from scrubjay.surfaces.cli.render import show

_get_command = cache(typer.main.get_command)


def parse_command(arguments: Sequence[str]) -> TypedCommand | None:
    """Return the command that was typed; None if its own process must carry it out, or explain what is wrong."""
    if not arguments or arguments[0] not in SERVED or "--help" in arguments:
        return None
    token = typed.set(commands := [])
    try:
        _get_command(app).main(list(arguments), prog_name="scrubjay", standalone_mode=False)
    except Exception:  # noqa: BLE001 - whatever is wrong with it, its own process says so.
        return None
    finally:
        typed.reset(token)
    return commands[0] if len(commands) == 1 and commands[0].call is not None else None


def find_settings(command: TypedCommand, environment: Mapping[str, str]) -> Settings:
    """Return the settings of a command, with the environment of its user."""
    return load_settings(command.shared, environment=environment)


async def carry_out(
    command: TypedCommand, client: MemoryClient, settings: Settings, *, stdin: str | None
) -> dict[str, Json] | None:
    """Return what the command prints, and its exit code; None if nothing was done and its process may retry."""
    assert command.call is not None
    as_json = bool(command.shared["as_json"])
    token = sent_stdin.set(stdin)
    try:
        if not command.writes:
            await require_space(client, settings)
        result = await command.call(client, **command.values)
    except ScrubjayError as error:
        if isinstance(error, Busy) and error.fields.get("refused"):
            return None
        text = describe_error(error, as_json=as_json, names=command.names)
        return {"error": text, "exit": codes_of(error).exit}
    finally:
        sent_stdin.reset(token)
    answer: dict[str, Json] = {"exit": exit_code(result)}
    if result is None:
        return answer
    if as_json:
        answer["json"] = result_as_json(result)
        return answer
    with collect_lines() as lines:
        show(result)
    answer["lines"] = cast("list[Json]", lines)
    return answer


def explain_loss(arguments: Sequence[str], *, run: str, peer: str) -> int | None:
    """Print whether a command was carried out whose daemon went away; return the exit code. None: do it again."""
    command = parse_command(arguments)
    if command is None or not command.writes:
        return None
    as_json = bool(command.shared["as_json"])
    error = asyncio.run(_find_outcome(command, " ".join(arguments[:1]), run=run, peer=peer))
    print_error(describe_error(error, as_json=as_json, names=command.names))
    return codes_of(error).exit


async def _find_outcome(command: TypedCommand, name: str, *, run: str, peer: str) -> DaemonUnavailable:
    settings = load_settings(command.shared)
    client = RpcClient(SocketTransport(known_socket(data_folder(settings.home))))
    try:
        return await client.lost_error(name, who=Caller(space=settings.space, agent=settings.agent, run=run), peer=peer)
    finally:
        await client.close()
