"""`scrubjay tokens`: create, list and revoke the tokens of HTTP clients."""

from dataclasses import field, replace
from datetime import UTC, datetime
from typing import Annotated

import typer

from scrubjay.client import MemoryClient
from scrubjay.lazy import dataclass
from scrubjay.model.caller import Access
from scrubjay.model.requests import CreateTokenRequest, RevokeTokenRequest, TokensRequest
from scrubjay.model.token import Token
from scrubjay.paths import read_daemon_record
from scrubjay.settings import Settings
from scrubjay.surfaces.cli.by_daemon import running_pid
from scrubjay.surfaces.cli.command import Make, plain, verb
from scrubjay.surfaces.cli.console import align

app = typer.Typer()
tokens_app = typer.Typer(help="Access tokens of HTTP clients.", no_args_is_help=True)
app.add_typer(tokens_app, name="tokens")

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
        command = f'curl -s -H "Authorization: Bearer $SCRUBJAY_TOKEN" {self.address}{path}'
        if self.token.mcp_only:
            command = f"scrubjay install claude-code --url {self.address}/mcp"
        return "\n".join(
            (
                f"created {self.token.name} ({self.token.id}): {self.token.access}, {spaces}, {until}",
                "",
                f"  {self.secret}",
                "",
                "Save it now: Scrubjay does not store it and cannot show it again. Anyone who has it has access.",
                f"To {'use' if self.token.mcp_only else 'try'} it, put it into SCRUBJAY_TOKEN:",
                f"  {command}",
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
    mcp_only: bool
    trusted_imports: bool


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


@verb(
    tokens_app,
    begins=True,
    helps={
        "requests_per_minute": "Rate limit. Default: SCRUBJAY_REQUESTS_PER_MINUTE.",
        "body_bytes": "Maximum size of a body. Default: SCRUBJAY_MAX_BODY_BYTES.",
    },
)
async def create(
    client: MemoryClient,
    make: Make[CreateTokenRequest],
    *,
    settings: Settings,
    spaces: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Spaces, for example work,home; `*` is all. Default: that of --space."),
    ] = None,
) -> CreatedToken:
    """Create a token and print its secret, this one time."""
    request = make(spaces=[name.strip() for name in (spaces or "").split(",") if name.strip()])
    if spaces is None and request.access != Access.METRICS:
        request = replace(request, spaces=(settings.space,))
    created = await client.call(request)
    return CreatedToken(token=created.token, secret=created.secret, address=_address(settings))


def _token_list(tokens: tuple[Token, ...]) -> TokenList:
    now = datetime.now(UTC)
    return TokenList(tokens=tuple(_row(token, now=now) for token in tokens))


plain(tokens_app, TokensRequest, "List all tokens and their states, without secrets.", shown=_token_list)
plain(
    tokens_app,
    RevokeTokenRequest,
    "Revoke a token at once and for good.",
    shown=lambda token: RevokedToken(token=token),
)


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
        mcp_only=token.mcp_only,
        trusted_imports=token.trusted_imports,
    )


def _day(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M}" if moment else "never"


def _address(settings: Settings) -> str:
    if settings.url:
        return settings.url.rstrip("/")
    if running_pid(settings.data) is not None and (http := read_daemon_record(settings.data).get("http")):
        return str(http)
    return "http://" + ("127.0.0.1:7272" if settings.http == _OFF else settings.http)
