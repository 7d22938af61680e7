"""Completions: names, tags, entities and projects of the caller's own space that begin as what was typed so far."""

from mcp_types import CompleteResult, Completion, CompletionArgument, PromptReference, ResourceTemplateReference

from scrubjay.errors import InvalidInput
from scrubjay.model.checks import require_text
from scrubjay.surfaces.mcp.prompts import PROMPTS
from scrubjay.surfaces.mcp.resources import TEMPLATE
from scrubjay.surfaces.mcp.suggestions import did_you_mean, shown
from scrubjay.surfaces.mcp.tool import ToolContext

# The protocol allows no more at once.
_MOST = 100
_LONGEST = 300
# Where the values of an argument are found, the likeliest place first.
_FIELDS: dict[str, tuple[str, ...]] = {
    "name": ("name",),
    "topic": ("entity", "tag", "name"),
    "project": ("project",),
}


async def complete(
    context: ToolContext, ref: PromptReference | ResourceTemplateReference, argument: CompletionArgument
) -> CompleteResult:
    """What an argument may be."""
    _require_known(ref, argument.name)
    prefix = require_text(argument.value, field=argument.name).strip()[:_LONGEST]
    if argument.name == "space":
        own = context.who.space
        return _told([own] if own.startswith(prefix) else [])
    found: dict[str, None] = {}
    for field in _FIELDS.get(argument.name, ()):
        found |= dict.fromkeys(
            await context.engine.store.labels(context.who.space, field, prefix=prefix, limit=_MOST + 1)
        )
    return _told(list(found))


def _told(values: list[str]) -> CompleteResult:
    return CompleteResult(completion=Completion(values=values[:_MOST], has_more=len(values) > _MOST))


def _require_known(ref: PromptReference | ResourceTemplateReference, argument: str) -> None:
    if isinstance(ref, PromptReference):
        if ref.name not in PROMPTS:
            raise InvalidInput(
                f"there is no prompt {shown(ref.name)}", hint=did_you_mean(ref.name, PROMPTS), field="ref"
            )
        known = tuple(PROMPTS[ref.name].arguments)
    elif ref.uri == TEMPLATE:
        known = ("space", "name")
    else:
        raise InvalidInput(f"there is no template {shown(ref.uri)}", hint=f"There is {TEMPLATE}", field="ref")
    if argument not in known:
        raise InvalidInput(
            f"there is no argument {shown(argument)}", hint=did_you_mean(argument, known), field="argument"
        )
