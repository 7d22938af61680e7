"""What an index of Qdrant's kind keeps of a point beside its vector, and what a filter asks of that.

The embedded engine and the server have the same fields; only the types that they are told in differ.
"""

from dataclasses import dataclass

from scrubjay.model.passage import Point
from scrubjay.model.query import Facet, Filter, facet
from scrubjay.model.timestamps import to_micros

HOME = "home"
FACETS = "facets"
AT = "at"

Payload = dict[str, str | int | list[str]]

_STATE = facet("state", "")


@dataclass(frozen=True, slots=True)
class OneOf:
    """A field must hold one of these texts."""

    field: str
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Between:
    """A field must hold a number from one on, and below another."""

    field: str
    since: float | None
    until: float | None


Condition = OneOf | Between


def payload_of(point: Point) -> Payload:
    """The fields of a point. Space and state are one field: every search asks for both."""
    state = next((facet for facet in point.facets if facet.startswith(_STATE)), _STATE)
    return {
        HOME: _home(point.space, state),
        FACETS: [_text(facet) for facet in point.facets if facet != state],
        AT: point.at,
    }


def conditions_of(space: str, filter: Filter) -> list[Condition]:
    """All that must hold; the first is the space and state."""
    must: list[Condition] = [OneOf(HOME, (_home(space, facet("state", filter.state)),))]
    must += [OneOf(FACETS, tuple(_text(item) for item in group)) for group in filter.facet_groups]
    if filter.since is not None or filter.until is not None:
        since = None if filter.since is None else float(to_micros(filter.since))
        until = None if filter.until is None else float(to_micros(filter.until))
        must.append(Between(AT, since, until))
    return must


def _home(space: str, state: Facet) -> str:
    return _text(f"{state}/{space}")


def _text(text: str) -> str:
    # Qdrant refuses half of a surrogate pair, which a Python string can hold.
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
