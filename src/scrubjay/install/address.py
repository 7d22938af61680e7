"""The address of a server elsewhere."""

from urllib.parse import urlsplit, urlunsplit

from scrubjay.errors import InvalidInput

_PATH = "/mcp"


def mcp_address(url: str) -> str:
    """The address to write down; that of a server alone gets the path at which it speaks MCP."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or not url.strip().isprintable():
        raise InvalidInput(
            f"{url[:80]!r} is no address of a server",
            hint="For example --url https://memory.example.org/mcp",
            field="url",
        )
    if parts.username is not None or parts.query or parts.fragment:
        raise InvalidInput(
            "the address holds more than a server and a path",
            hint="Keep secrets out of it: the token is taken from SCRUBJAY_TOKEN when the client starts",
            field="url",
        )
    return urlunsplit(parts._replace(path=_PATH if parts.path in ("", "/") else parts.path))
