"""Prompts: four tasks that people give an agent about its memory, and completions for their arguments."""

from collections.abc import Awaitable, Callable, Mapping

from mcp_types import (
    CompleteResult,
    Completion,
    CompletionArgument,
    GetPromptResult,
    ListPromptsResult,
    Prompt,
    PromptArgument,
    PromptMessage,
    PromptReference,
    ResourceTemplateReference,
    TextContent,
)

from scrubjay.errors import InvalidInput, TooLarge
from scrubjay.lazy import dataclass
from scrubjay.model.checks import require_text
from scrubjay.model.labels import NOTICE
from scrubjay.surfaces.mcp.arguments import did_you_mean, display
from scrubjay.surfaces.mcp.budget import DEFAULT_TOKENS
from scrubjay.surfaces.mcp.resources import TEMPLATE
from scrubjay.surfaces.mcp.tool import ToolContext
from scrubjay.surfaces.mcp.toolsets.read import recall

_MAX_ARGUMENT = 20_000
# A prompt contains only the lines, which are half of the tool's result.
_TOKENS_IN_BOTH_FORMS = 2 * DEFAULT_TOKENS
# The protocol allows no more values at once.
_MAX_COMPLETIONS = 100
_MAX_PREFIX = 300
# The labels that complete an argument, the likeliest first.
_COMPLETED_BY: dict[str, tuple[str, ...]] = {
    "name": ("name",),
    "topic": ("entity", "tag", "name"),
    "project": ("project",),
}
_Arguments = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptTemplate:
    """One prompt: its purpose, its arguments and the function that writes its text."""

    name: str
    title: str
    description: str
    arguments: Mapping[str, str]
    render: Callable[[ToolContext, _Arguments], Awaitable[str]]
    required: str = ""


def list_prompts() -> ListPromptsResult:
    """Return all prompts."""
    return ListPromptsResult(prompts=[_describe(template) for template in PROMPTS.values()])


async def get_prompt(context: ToolContext, name: str, arguments: _Arguments) -> GetPromptResult:
    """Return a prompt with its arguments filled in."""
    template = PROMPTS.get(name)
    if template is None:
        raise InvalidInput(f"there is no prompt {display(name)}", hint=did_you_mean(name, PROMPTS), field="name")
    _check(template, arguments)
    message = PromptMessage(role="user", content=TextContent(text=await template.render(context, arguments)))
    return GetPromptResult(description=template.description, messages=[message])


async def complete(
    context: ToolContext, ref: PromptReference | ResourceTemplateReference, argument: CompletionArgument
) -> CompleteResult:
    """Return names, tags, entities or projects of the caller's own space that begin like the argument."""
    _require_argument(ref, argument.name)
    prefix = require_text(argument.value, field=argument.name).strip()[:_MAX_PREFIX]
    values: dict[str, None] = {}
    if argument.name == "space":
        values = dict.fromkeys([context.who.space] if context.who.space.startswith(prefix) else [])
    for field in _COMPLETED_BY.get(argument.name, ()):
        values |= dict.fromkeys(
            await context.engine.reader.labels(context.who.space, field, prefix=prefix, limit=_MAX_COMPLETIONS + 1)
        )
    return CompleteResult(
        completion=Completion(values=list(values)[:_MAX_COMPLETIONS], has_more=len(values) > _MAX_COMPLETIONS)
    )


async def _begin_session(context: ToolContext, arguments: _Arguments) -> str:
    project = arguments.get("project") or context.project
    where = f' on the project "{project}"' if project else ""
    task = f"\nWe are going to work on this: {arguments['task']}\n" if arguments.get("task") else ""
    start = await context.memory.context(project=project, max_tokens=DEFAULT_TOKENS)
    return f"""We begin a session{where}. The long-term memory has this for it ({NOTICE}):

{start.text}
{task}
Keep it in mind. Bring up the reminders that are due, and ask about conflicts that matter for what we do. Search the
memory before you answer what it may know, and read whole memories where it matters. Say in two or three sentences where
we are."""


async def _write_with_care(context: ToolContext, arguments: _Arguments) -> str:
    project = arguments.get("project") or context.project
    where = f' File it under the project "{project}".' if project else ""
    return f"""Keep this in the long-term memory:

{arguments["text"]}

Search before you write. These memories are near to it:

{await _recall_text(context, arguments["text"])}

Then choose one: if a memory says it already, change nothing; if one says it less well, or differently because things
have changed, revise that one; only if none does, remember it. One fact a memory, each a full sentence with names and
dates that can be understood without this conversation.{where} A note on a task in progress takes the session_hint that
the others of that task have. If the answer names a memory that may contradict it, revise or forget what no longer
holds. Relate it to the memories it belongs to. Tell me what you did."""


async def _what_do_you_know_about(context: ToolContext, arguments: _Arguments) -> str:
    return f"""What do you know about {arguments["topic"]}?

The long-term memory says this about it ({NOTICE}):

{await _recall_text(context, arguments["topic"])}

Search further if that is not enough, and read whole memories where it matters. Answer from your memories, name those
that you rely on and their dates, and say what is missing or contradictory."""


async def _wrap_up_session(context: ToolContext, arguments: _Arguments) -> str:
    project = arguments.get("project") or context.project
    where = f' of the project "{project}"' if project else ""
    focus = f"\nPay attention to: {arguments['focus']}\n" if arguments.get("focus") else ""
    return f"""We are about to end this session{where}. Keep what will still matter in another one.
{focus}
Go through our conversation and list decisions and their reasons, facts and preferences that you learned, finished
tasks, and open tasks with their owners. For each of them search the memory first; then revise what is there, or
remember what is new: one fact a memory, in a full sentence with names and dates; notes on one task share a
session_hint. Leave out what the project's own files say already, what was only tried, and anything secret. Forget what
turned out to be wrong. Relate what belongs together. End with a short list of what you kept, changed and forgot."""


PROMPTS: Mapping[str, PromptTemplate] = {
    template.name: template
    for template in (
        PromptTemplate(
            name="begin_session",
            title="Begin a session",
            description="Who I am, what is due, and where we stopped",
            arguments={"project": "The project we work on", "task": "What we are going to do"},
            render=_begin_session,
        ),
        PromptTemplate(
            name="write_with_care",
            title="Search before you write",
            description="Keep something, after a look at what is already known",
            arguments={"text": "What to keep", "project": "The project it belongs to"},
            render=_write_with_care,
            required="text",
        ),
        PromptTemplate(
            name="what_do_you_know_about",
            title="What do you know about …?",
            description="All memories of a person, a thing or a subject",
            arguments={"topic": "A person, a thing or a subject"},
            render=_what_do_you_know_about,
            required="topic",
        ),
        PromptTemplate(
            name="wrap_up_session",
            title="Wrap up this session",
            description="Keep what will matter in another session",
            arguments={"project": "The project we worked on", "focus": "What to pay attention to"},
            render=_wrap_up_session,
        ),
    )
}


async def _recall_text(context: ToolContext, query: str) -> str:
    return (await recall(context, {"query": query, "max_tokens": _TOKENS_IN_BOTH_FORMS})).text


def _describe(template: PromptTemplate) -> Prompt:
    arguments = [
        PromptArgument(name=name, description=words, required=name == template.required)
        for name, words in template.arguments.items()
    ]
    return Prompt(name=template.name, title=template.title, description=template.description, arguments=arguments)


def _check(template: PromptTemplate, arguments: _Arguments) -> None:
    for name, value in arguments.items():
        if name not in template.arguments:
            raise InvalidInput(
                f"{template.name} takes no argument {display(name)}",
                hint=did_you_mean(name, template.arguments),
                field=name[:80],
            )
        if len(value) > _MAX_ARGUMENT:
            raise TooLarge(
                f"{name} has {len(value):,} characters; the limit is {_MAX_ARGUMENT:,}",
                hint="Give the gist of it",
                field=name,
                limit=_MAX_ARGUMENT,
            )
    if template.required and not arguments.get(template.required, "").strip():
        raise InvalidInput(
            f"{template.name} needs the argument {template.required!r}",
            hint="Give it as a text",
            field=template.required,
        )


def _require_argument(ref: PromptReference | ResourceTemplateReference, argument: str) -> None:
    if isinstance(ref, PromptReference):
        if ref.name not in PROMPTS:
            raise InvalidInput(
                f"there is no prompt {display(ref.name)}", hint=did_you_mean(ref.name, PROMPTS), field="ref"
            )
        names = tuple(PROMPTS[ref.name].arguments)
    elif ref.uri == TEMPLATE:
        names = ("space", "name")
    else:
        raise InvalidInput(f"there is no template {display(ref.uri)}", hint=f"There is {TEMPLATE}", field="ref")
    if argument not in names:
        raise InvalidInput(
            f"there is no argument {display(argument)}", hint=did_you_mean(argument, names), field="argument"
        )
