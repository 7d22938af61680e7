"""The filters that `recall` and `forget` share: one object, to keep the listing small."""

from collections.abc import Mapping
from typing import cast

from scrubjay.errors import InvalidInput
from scrubjay.model.memory import Json
from scrubjay.model.query import Filter
from scrubjay.model.requests import RecallRequest
from scrubjay.surfaces.mcp.arguments import ArgumentChecker, arguments_for
from scrubjay.surfaces.mcp.toolsets.schema import OBJECT, argument_schemas, described, input_schema

_FIELDS = argument_schemas(Filter)
# Only a question takes these. `forget` refuses them: if it ignored them, it would forget too much.
_QUESTION_FIELDS = {
    name: argument_schemas(RecallRequest)[name]
    for name in ("contains", "today", "as_of", "branch", "from_project", "min_score")
}
# Agents use these the most: `recall` takes them as arguments of its own too.
_OWN = ("entity", "tags", "since")
# The schema only names the fields: they are checked here, and the error describes the wrong one.
QUESTION_FILTERS = described(OBJECT, ", ".join([*_FIELDS, *_QUESTION_FIELDS]))
QUESTION_NAMES = {name: f"filters.{name}" for name in (*_FIELDS, *_QUESTION_FIELDS) if name not in _OWN}
FILTERS = described(OBJECT, f"those of recall up to {[*_FIELDS][-1]}")


def filter_from(arguments: Mapping[str, Json], *, tool: str) -> Filter | None:
    """Return the `filters` of a tool, if it has them; raises InvalidInput that names the wrong field."""
    if "filters" not in arguments:
        return None
    filters = ArgumentChecker(input_schema(**_FIELDS), tool=tool, path="filters").check(_filters_of(arguments))
    try:
        return _require_order(Filter.of(**filters))
    except InvalidInput as error:
        raise error.renamed({name: f"filters.{name}" for name in filters}) from error


def question_from(arguments: Mapping[str, Json], *, project: str, **more: Json) -> RecallRequest:
    """Return what the arguments of `recall` and their `filters` ask, by default in the project of the caller."""
    schema = input_schema(**_FIELDS, **_QUESTION_FIELDS)
    filters = ArgumentChecker(schema, tool="recall", path="filters").check(_filters_of(arguments))
    try:
        question = RecallRequest.of(
            **{"from_project": project, **filters, **arguments_for(RecallRequest, arguments), **more}
        )
        _require_order(question.filter)
    except InvalidInput as error:
        raise error.renamed({name: f"filters.{name}" for name in filters if name not in arguments}) from error
    return question


def _filters_of(arguments: Mapping[str, Json]) -> Mapping[str, Json]:
    return cast("Mapping[str, Json]", arguments.get("filters", {}))


def _require_order(filter_: Filter) -> Filter:
    if filter_.since and filter_.until and filter_.since >= filter_.until:
        raise InvalidInput(
            "since must be before until", hint="Give an earlier `since`, or a later `until`", field="since"
        )
    return filter_
