"""Tokens: who may come by HTTP, and what they may do there."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from scrubjay.client.connect import Connection
from scrubjay.model.grant import Access
from scrubjay.model.token import Token, TokenRequest
from scrubjay.rpc.engine import RemoteEngine
from scrubjay.settings import Settings
from scrubjay.surfaces.cli.command import bare

if TYPE_CHECKING:
    from scrubjay.engine import Engine

app = typer.Typer()
tokens_app = typer.Typer(help="Tokens, which let programs in by HTTP.", no_args_is_help=True)
app.add_typer(tokens_app, name="tokens")

T = TypeVar("T")
_OFF = "off"
_HEAD = ("NAME", "STATE", "ACCESS", "SPACES", "EXPIRES", "ID")


@dataclass(frozen=True, slots=True, kw_only=True)
class Created:
    """A new token, as it is shown once."""

    token: Token
    secret: str = field(repr=False)
    address: str

    def __str__(self) -> str:
        opens = ", ".join(self.token.spaces) or "no space"
        path = "/metrics" if self.token.access is Access.METRICS else "/api/v1/status"
        return "\n".join(
            (
                f"created {self.token.name} ({self.token.id}): {self.token.access}, {opens}, {_until(self.token)}",
                "",
                f"  {self.secret}",
                "",
                "Keep it now: it is not stored, and nobody can show it again. Whoever has it is let in.",
                "To try it, put it into SCRUBJAY_TOKEN:",
                f'  curl -s -H "Authorization: Bearer $SCRUBJAY_TOKEN" {self.address}{path}',
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A token in a list."""

    id: str
    name: str
    state: str
    access: str
    spaces: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    requests_per_minute: int
    body_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """All tokens; none of their secrets, which nobody has."""

    tokens: tuple[Row, ...]

    def __str__(self) -> str:
        if not self.tokens:
            return "no tokens; `scrubjay tokens create --name NAME` makes one"
        rows = [
            (token.name, token.state, token.access, ",".join(token.spaces) or "-", _day(token.expires_at), token.id)
            for token in self.tokens
        ]
        widths = [max(map(len, column)) for column in zip(_HEAD, *rows, strict=True)]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in (_HEAD, *rows)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Revoked:
    """A token that has ended."""

    token: Token

    def __str__(self) -> str:
        return f"revoked {self.token.name} ({self.token.id}): it opens nothing from now on"


@bare(tokens_app)
def create(
    settings: Settings,
    *,
    name: Annotated[str, typer.Option(help="Whom or what it is for.", show_default=False)],
    spaces: Annotated[
        str | None,
        typer.Option(
            metavar="LIST", help="Spaces that it opens, for example work,home; `*` is all. Default: that of --space."
        ),
    ] = None,
    access: Annotated[str, typer.Option(help="read, write (which is also to read), or metrics.")] = Access.READ.value,
    expires: Annotated[
        str, typer.Option(metavar="WHEN", help="90d, 12h or a time. Default: never, until it is revoked.")
    ] = "",
    requests_per_minute: Annotated[
        int, typer.Option(metavar="N", help="How often it may ask. Default: SCRUBJAY_REQUESTS_PER_MINUTE.")
    ] = 0,
    max_body: Annotated[
        int, typer.Option(metavar="BYTES", help="Largest body it may send. Default: SCRUBJAY_MAX_BODY_BYTES.")
    ] = 0,
) -> Created:
    """Make a token and show it, this once."""
    usual = () if access == Access.METRICS else (settings.space,)
    wish = TokenRequest(
        name=name,
        spaces=usual if spaces is None else tuple(one.strip() for one in spaces.split(",") if one.strip()),
        access=access,
        expires=expires,
        requests_per_minute=requests_per_minute,
        body_bytes=max_body,
    )
    made = _ask(settings, lambda engine: engine.create_token(wish))
    return Created(token=made.token, secret=made.secret, address=_address(settings))


@bare(tokens_app, name="list")
def list_(settings: Settings) -> Listed:
    """List all tokens and what has become of them; their secrets are nowhere."""
    now = datetime.now(UTC)
    return Listed(tokens=tuple(_row(token, now=now) for token in _ask(settings, lambda engine: engine.tokens())))


@bare(tokens_app)
def revoke(
    settings: Settings, ref: Annotated[str, typer.Argument(help="Id or name of the token.", show_default=False)]
) -> Revoked:
    """End a token at once and for good."""
    return Revoked(token=_ask(settings, lambda engine: engine.revoke_token(ref)))


def _ask(settings: Settings, question: "Callable[[Engine | RemoteEngine], Awaitable[T]]") -> T:
    """Ask the daemon that runs, or else the store: tokens are its owner's business, and no verb of a client."""

    async def ask() -> T:
        connection = Connection(settings=settings.short_lived)
        try:
            return await question(await connection.open())
        finally:
            await connection.close()

    return asyncio.run(ask())


def _row(token: Token, *, now: datetime) -> Row:
    return Row(
        id=token.id,
        name=token.name,
        state=token.state(now).value,
        access=token.access.value,
        spaces=token.spaces,
        created_at=token.created_at,
        expires_at=token.expires_at,
        revoked_at=token.revoked_at,
        requests_per_minute=token.requests_per_minute,
        body_bytes=token.body_bytes,
    )


def _until(token: Token) -> str:
    return f"until {token.expires_at:%Y-%m-%d %H:%M} UTC" if token.expires_at else "until it is revoked"


def _day(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M}" if moment else "never"


def _address(settings: Settings) -> str:
    if settings.url:
        return settings.url.rstrip("/")
    return "http://" + ("127.0.0.1:7272" if settings.http == _OFF else settings.http)
