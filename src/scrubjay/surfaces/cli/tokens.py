"""`scrubjay tokens`: create, list and revoke the tokens of HTTP clients."""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, TypeVar

import typer

from scrubjay.client import MemoryClient
from scrubjay.model.arguments import Request
from scrubjay.model.grant import Access
from scrubjay.model.requests import CreateTokenRequest, RevokeTokenRequest, TokensRequest
from scrubjay.model.token import Token
from scrubjay.settings import Settings
from scrubjay.surfaces.cli.command import bare
from scrubjay.surfaces.cli.console import align

app = typer.Typer()
tokens_app = typer.Typer(help="Access tokens of HTTP clients.", no_args_is_help=True)
app.add_typer(tokens_app, name="tokens")

R = TypeVar("R")
_OFF = "off"
_HEAD = ("NAME", "STATE", "ACCESS", "SPACES", "EXPIRES", "ID")


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedToken:
    """A new token with its secret, which is shown only once."""

    token: Token
    secret: str = field(repr=False)
    address: str

    def __str__(self) -> str:
        spaces = ", ".join(self.token.spaces) or "no space"
        path = "/metrics" if self.token.access is Access.METRICS else "/api/v1/status"
        expiry = self.token.expires_at
        until = f"until {expiry:%Y-%m-%d %H:%M} UTC" if expiry else "until it is revoked"
        return "\n".join(
            (
                f"created {self.token.name} ({self.token.id}): {self.token.access}, {spaces}, {until}",
                "",
                f"  {self.secret}",
                "",
                "Save it now: Scrubjay does not store it and cannot show it again. Anyone who has it has access.",
                "To try it, put it into SCRUBJAY_TOKEN:",
                f'  curl -s -H "Authorization: Bearer $SCRUBJAY_TOKEN" {self.address}{path}',
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRow:
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
class TokenList:
    """All tokens, without their secrets, which are not stored."""

    tokens: tuple[TokenRow, ...]

    def __str__(self) -> str:
        if not self.tokens:
            return "no tokens; `scrubjay tokens create --name NAME` creates one"
        rows = [
            (token.name, token.state, token.access, ",".join(token.spaces) or "-", _day(token.expires_at), token.id)
            for token in self.tokens
        ]
        return "\n".join(align([_HEAD, *rows]))


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokedToken:
    """A revoked token."""

    token: Token

    def __str__(self) -> str:
        return f"revoked {self.token.name} ({self.token.id}): it gives no access any more"


@bare(tokens_app)
def create(
    settings: Settings,
    *,
    name: Annotated[str, typer.Option(help="Person or program that uses the token.", show_default=False)],
    spaces: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Spaces, for example work,home; `*` is all. Default: that of --space."),
    ] = None,
    access: Annotated[str, typer.Option(help="read, write (which includes read), or metrics.")] = Access.READ.value,
    expires: Annotated[str, typer.Option(metavar="WHEN", help="90d, 12h or a time. Default: never.")] = "",
    requests_per_minute: Annotated[
        int, typer.Option(metavar="N", help="Rate limit. Default: SCRUBJAY_REQUESTS_PER_MINUTE.")
    ] = 0,
    max_body: Annotated[
        int, typer.Option(metavar="BYTES", help="Maximum size of a body. Default: SCRUBJAY_MAX_BODY_BYTES.")
    ] = 0,
) -> CreatedToken:
    """Create a token and print its secret, this one time."""
    default_spaces = () if access == Access.METRICS else (settings.space,)
    request = CreateTokenRequest(
        name=name,
        spaces=default_spaces if spaces is None else tuple(filter(None, map(str.strip, spaces.split(",")))),
        access=access,
        expires=expires,
        requests_per_minute=requests_per_minute,
        body_bytes=max_body,
    )
    created = _call(settings, request)
    return CreatedToken(token=created.token, secret=created.secret, address=_address(settings))


@bare(tokens_app, name="list")
def list_(settings: Settings) -> TokenList:
    """List all tokens and their states, without secrets."""
    now = datetime.now(UTC)
    tokens = _call(settings, TokensRequest())
    return TokenList(tokens=tuple(_row(token, now=now) for token in tokens))


@bare(tokens_app)
def revoke(
    settings: Settings, ref: Annotated[str, typer.Argument(help="Id or name of the token.", show_default=False)]
) -> RevokedToken:
    """Revoke a token at once and for good."""
    return RevokedToken(token=_call(settings, RevokeTokenRequest(ref=ref)))


def _call(settings: Settings, request: Request[R]) -> R:
    """Call the running daemon, else the store itself."""

    async def connect_and_call() -> R:
        async with MemoryClient(settings=settings.short_lived) as memory:
            return await memory.call(request)

    return asyncio.run(connect_and_call())


def _row(token: Token, *, now: datetime) -> TokenRow:
    return TokenRow(
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


def _day(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M}" if moment else "never"


def _address(settings: Settings) -> str:
    if settings.url:
        return settings.url.rstrip("/")
    return "http://" + ("127.0.0.1:7272" if settings.http == _OFF else settings.http)
