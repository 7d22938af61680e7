"""The filters that `recall` and `forget` share: one object, so that the listing stays small."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from scrubjay.errors import InvalidInput
from scrubjay.model.memory import MAIN, Json, State, Tier, Trust
from scrubjay.model.query import Filter, Question
from scrubjay.model.timestamps import parse_moment
from scrubjay.surfaces.mcp.arguments import Checker, Given
from scrubjay.surfaces.mcp.toolsets.schema import OBJECT, TEXT, TEXTS, choice, says, takes

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
# Only a question takes these. `forget` refuses them: what it would not look at, it would forget too much by.
_OF_A_QUESTION: dict[str, dict[str, Json]] = {"contains": TEXT, "today": TEXT, "as_of": TEXT, "branch": TEXT}
# Named, not spelled out: what each takes is checked here, and told when it is wrong.
QUESTION_FILTERS = says(OBJECT, ", ".join([*_FIELDS, *_OF_A_QUESTION]))
FILTERS = says(OBJECT, f"those of recall but {', '.join(_OF_A_QUESTION)}")


def filter_from(given: Mapping[str, Json], *, of: str) -> Filter:
    """The filter that a `filters` object asks for; raises InvalidInput naming what is wrong in it."""
    return _filter(Given(Checker(takes(**_FIELDS), of=of, within="filters").check(given)))


def question_from(given: Mapping[str, Json], question: Question) -> Question:
    """A question with all that its `filters` object asks for; raises InvalidInput naming what is wrong in it."""
    schema = takes(**_FIELDS, **_OF_A_QUESTION)
    known = Given(Checker(schema, of="recall", within="filters").check(given))
    return replace(
        question, filter=_filter(known), contains=known.text("contains"), today=_moment(known, "today"),
        as_of=_moment(known, "as_of"), branch=known.text("branch", MAIN),
    )  # fmt: skip


def _filter(known: Given) -> Filter:
    wanted = Filter(
        entity=known.text("entity"),
        kind=known.text("kind"),
        category=known.text("category"),
        tags=known.texts("tags"),
        any_tags=known.texts("any_tags"),
        project=known.text("project"),
        scope=known.text("scope"),
        tier=known.text("tier"),
        session=known.text("session"),
        agent=known.text("agent"),
        trust=known.text("trust"),
        metadata=known.mapping("metadata"),
        since=_moment(known, "since"),
        until=_moment(known, "until"),
        state=State(known.text("state", State.LIVE)),
        flag=known.text("flag"),
    )
    if wanted.since and wanted.until and wanted.since >= wanted.until:
        raise InvalidInput("since must be before until", field="filters.since")
    return wanted


def _moment(known: Given, name: str) -> datetime | None:
    return parse_moment(known.text(name), field=f"filters.{name}") if name in known else None
