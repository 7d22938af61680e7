"""Where the database is and how it is talked to; passwords are never shown."""

from contextlib import suppress
from dataclasses import dataclass, field

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from scrubjay.errors import InvalidInput

SETTING = "SCRUBJAY_DATABASE_URL"
_SCHEMES = ("postgresql://", "postgres://")


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A database. The owner makes the tables; without one, whoever `url` names does.

    `direct_url` leads past a pooler such as PgBouncer, to where notifications can be heard.
    """

    url: str = field(repr=False)
    owner_url: str = field(default="", repr=False)
    direct_url: str = field(default="", repr=False)
    connections: int = 10
    statement_seconds: int = 30
    # How long a lost connection is tried again before the caller hears of it.
    patience: float = 15.0

    def __post_init__(self) -> None:
        """Refuse what is no address before anybody is called."""
        for url in (self.url, self.owner, self.direct):
            if not url.startswith(_SCHEMES):
                raise InvalidInput(
                    "a database URL begins with postgresql://",
                    hint=f"Write {SETTING} as postgresql://user:password@host:5432/database",
                    setting=SETTING,
                )
            _parts(url)

    @property
    def shown(self) -> str:
        """The address as people may see it."""
        parts = _parts(self.url)
        user = f"{parts['user']}@" if parts.get("user") else ""
        port = f":{parts['port']}" if parts.get("port") else ""
        return f"postgresql://{user}{parts.get('host') or 'localhost'}{port}/{parts.get('dbname') or ''}"

    def line_to(self, url: str) -> str:
        """One of the addresses with how a line that has gone silent is found out, for the driver."""
        return make_conninfo(
            url,
            application_name="scrubjay",
            connect_timeout=max(2, int(self.patience)),
            keepalives_idle=5,
            keepalives_interval=5,
            keepalives_count=3,
            tcp_user_timeout=int(1000 * self.patience),
        )

    @property
    def owner(self) -> str:
        """Who makes the tables."""
        return self.owner_url or self.url

    @property
    def direct(self) -> str:
        """Where a connection is ours for as long as we keep it."""
        return self.direct_url or self.url


def _parts(url: str) -> dict[str, str]:
    # What the driver says of a bad one may repeat the password.
    with suppress(psycopg.ProgrammingError):
        parts = {name: str(value) for name, value in conninfo_to_dict(url).items() if value}
        if all(port.isdecimal() for port in parts.get("port", "0").split(",")):
            return parts
    raise InvalidInput(
        "the database URL cannot be understood",
        hint=f"Write {SETTING} as postgresql://user:password@host:5432/database; encode special characters as %40",
        setting=SETTING,
    )
