"""What each request of the protocol needs in its params: checked here, so that what is wrong is said in words."""

from collections.abc import Mapping
from dataclasses import dataclass

from mcp_types import PROTOCOL_VERSION_META_KEY

from scrubjay.model.memory import Json

_KINDS: dict[type, str] = {str: "a text", dict: "an object", list: "a list"}
_NAMES: dict[type, str] = {bool: "true or false", int: "a number", float: "a number", type(None): "null", **_KINDS}


@dataclass(frozen=True, slots=True)
class Wrong:
    """A field of a request's params that is missing or not what it must be."""

    field: str
    message: str


@dataclass(frozen=True, slots=True)
class _Field:
    path: str
    kind: type
    is_required: bool = True


_NAMED = (_Field("name", str), _Field("arguments", dict, is_required=False))
_ADDRESSED = (_Field("uri", str),)
_LISTED = (_Field("cursor", str, is_required=False),)
_ALWAYS = (_Field("_meta", dict, is_required=False),)
# What is within an object comes after the object.
_FIELDS: Mapping[str, tuple[_Field, ...]] = {
    "initialize": (
        _Field("protocolVersion", str),
        _Field("capabilities", dict),
        _Field("clientInfo", dict),
        _Field("clientInfo.name", str),
        _Field("clientInfo.version", str),
    ),
    "tools/call": _NAMED,
    "prompts/get": _NAMED,
    "resources/read": _ADDRESSED,
    "resources/subscribe": _ADDRESSED,
    "resources/unsubscribe": _ADDRESSED,
    "tools/list": _LISTED,
    "prompts/list": _LISTED,
    "resources/list": _LISTED,
    "resources/templates/list": _LISTED,
    "subscriptions/listen": (_Field("notifications", dict),),
    "completion/complete": (
        _Field("ref", dict),
        _Field("ref.type", str),
        _Field("argument", dict),
        _Field("argument.name", str),
        _Field("argument.value", str),
    ),
}
# The newer revision has none of these: the server says so itself, whatever their params are.
_HANDSHAKE_ONLY = frozenset({"initialize", "resources/subscribe", "resources/unsubscribe"})


def wrong_in(method: str, params: Mapping[str, Json]) -> Wrong | None:
    """The first field that a request's params lack, or have as something else than it must be."""
    is_gone = method in _HANDSHAKE_ONLY and _at(params, "_meta", PROTOCOL_VERSION_META_KEY) is not None
    for field in (*_ALWAYS, *(() if is_gone else _FIELDS.get(method, ()))):
        value = _at(params, *field.path.split("."))
        if value is None and not field.is_required:
            continue
        if not isinstance(value, field.kind):
            return Wrong(f"params.{field.path}", _words(method, field, value))
    return _not_text(method, params) if method == "prompts/get" else None


def _at(params: Mapping[str, Json], *path: str) -> Json:
    value: Json = dict(params)
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _words(method: str, field: _Field, value: Json) -> str:
    expected = _KINDS[field.kind]
    if value is None:
        return f"{method} needs params.{field.path}: give it as {expected}"
    return f"params.{field.path} of {method} must be {expected}, not {_NAMES[type(value)]}"


def _not_text(method: str, params: Mapping[str, Json]) -> Wrong | None:
    """The arguments of a prompt are texts, all of them."""
    arguments = params.get("arguments")
    for name, value in arguments.items() if isinstance(arguments, dict) else ():
        if not isinstance(value, str):
            path = f"arguments.{name[:80]}"
            return Wrong(f"params.{path}", _words(method, _Field(path, str), value))
    return None
