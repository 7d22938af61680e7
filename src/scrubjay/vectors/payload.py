"""The payload of a point in an index of Qdrant, and the conditions of a filter on it.

The embedded engine and the server have the same fields, in different types.
"""

from scrubjay.lazy import dataclass
from scrubjay.model.passage import Point
from scrubjay.model.query import Facet, Filter, facet
from scrubjay.model.timestamps import to_micros

TENANT = "home"
FACETS = "facets"
AT = "at"

Payload = dict[str, str | int | list[str]]

_STATE = facet("state", "")


@dataclass(frozen=True, slots=True)
class OneOf:
    """A field must contain any of these texts."""

    field: str
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Between:
    """A field must be a number of at least `since` and less than `until`."""

    field: str
    since: float | None
    until: float | None


Condition = OneOf | Between


def payload_of(point: Point) -> Payload:
    """Return the fields of a point. Space and state are in one field, because every search filters by both."""
    state = next((facet for facet in point.facets if facet.startswith(_STATE)), _STATE)
    facets = [facet for facet in point.facets if facet != state]
    # Nearly all are plain, and looked at together.
    texts = facets if "".join(facets).isascii() else list(map(_text, facets))
    return {TENANT: _tenant(point.space, state), FACETS: texts, AT: point.at}


def conditions_of(space: str, filter: Filter) -> list[Condition]:
    """Return the conditions of a filter; the first is the space and state."""
    conditions: list[Condition] = [OneOf(TENANT, (_tenant(space, facet("state", filter.state)),))]
    conditions += [OneOf(FACETS, tuple(_text(item) for item in group)) for group in filter.facet_groups]
    if filter.since is not None or filter.until is not None:
        since = None if filter.since is None else float(to_micros(filter.since))
        until = None if filter.until is None else float(to_micros(filter.until))
        conditions.append(Between(AT, since, until))
    return conditions


def _tenant(space: str, state: Facet) -> str:
    return _text(f"{state}/{space}")


def _text(text: str) -> str:
    # Qdrant rejects half of a surrogate pair, which a Python string can contain.
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
