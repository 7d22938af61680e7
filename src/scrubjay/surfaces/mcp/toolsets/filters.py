"""The filters that `recall` and `forget` share: one object, to keep the listing small."""

from collections.abc import Container, Mapping
from dataclasses import replace
from datetime import datetime

from scrubjay.errors import InvalidInput
from scrubjay.model.memory import MAIN, Json, State, Tier, Trust
from scrubjay.model.query import Filter
from scrubjay.model.requests import RecallRequest
from scrubjay.model.timestamps import parse_moment
from scrubjay.surfaces.mcp.arguments import ArgumentChecker, Arguments
from scrubjay.surfaces.mcp.toolsets.schema import OBJECT, TEXT, TEXTS, choice, described, input_schema

_FIELDS: dict[str, dict[str, Json]] = {
    "entity": TEXT,
    "kind": TEXT,
    "category": TEXT,
    "project": TEXT,
    "scope": TEXT,
    "tags": TEXTS,
    "any_tags": TEXTS,
    "tier": choice(*Tier),
    "session": TEXT,
    "agent": TEXT,
    "trust": choice(*Trust),
    "metadata": OBJECT,
    "since": TEXT,
    "until": TEXT,
    "state": choice(*State),
    "flag": TEXT,
}
# Only a question takes these. `forget` refuses them: if it ignored them, it would forget too much.
_QUESTION_FIELDS: dict[str, dict[str, Json]] = {"contains": TEXT, "today": TEXT, "as_of": TEXT, "branch": TEXT}
# The schema only names the fields: they are checked here, and the error describes the wrong one.
QUESTION_FILTERS = described(OBJECT, ", ".join([*_FIELDS, *_QUESTION_FIELDS]))
QUESTION_NAMES = {name: f"filters.{name}" for name in (*_FIELDS, *_QUESTION_FIELDS)}
FILTERS = described(OBJECT, f"those of recall but {', '.join(_QUESTION_FIELDS)}")


def filter_from(values: Mapping[str, Json], *, tool: str) -> Filter:
    """Return the filter of a `filters` object; raises InvalidInput that names the wrong field."""
    return _filter(Arguments(ArgumentChecker(input_schema(**_FIELDS), tool=tool, path="filters").check(values)))


def question_from(values: Mapping[str, Json], question: RecallRequest, *, own: Mapping[str, Json]) -> RecallRequest:
    """Return a question with its `filters` object applied, and with the filters that are arguments of their own."""
    schema = input_schema(**_FIELDS, **_QUESTION_FIELDS)
    filters = Arguments(ArgumentChecker(schema, tool="recall", path="filters").check({**values, **own}))
    return replace(
        question, filter=_filter(filters, own=own), contains=filters.text("contains"), today=_moment(filters, "today"),
        as_of=_moment(filters, "as_of"), branch=filters.text("branch", MAIN),
    )  # fmt: skip


def _filter(filters: Arguments, *, own: Container[str] = ()) -> Filter:
    result = Filter.of(
        entity=filters.text("entity"),
        kind=filters.text("kind"),
        category=filters.text("category"),
        tags=filters.texts("tags"),
        any_tags=filters.texts("any_tags"),
        project=filters.text("project"),
        scope=filters.text("scope"),
        tier=filters.text("tier"),
        session=filters.text("session"),
        agent=filters.text("agent"),
        trust=filters.text("trust"),
        metadata=filters.mapping("metadata"),
        since=_moment(filters, "since", own=own),
        until=_moment(filters, "until"),
        state=State(filters.text("state", State.LIVE)),
        flag=filters.text("flag"),
    )
    if result.since and result.until and result.since >= result.until:
        raise InvalidInput("since must be before until", field=_path("since", own))
    return result


def _moment(filters: Arguments, name: str, *, own: Container[str] = ()) -> datetime | None:
    return parse_moment(filters.text(name), field=_path(name, own)) if name in filters else None


def _path(name: str, own: Container[str]) -> str:
    return name if name in own else f"filters.{name}"
