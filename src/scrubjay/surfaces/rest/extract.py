"""Facts: what a conversation says that is worth keeping."""

from typing import Annotated, Literal

from fastapi import Response
from pydantic import Field

from scrubjay.model.fact import Extracted
from scrubjay.surfaces.rest import examples
from scrubjay.surfaces.rest.deps import Writing
from scrubjay.surfaces.rest.fields import Line
from scrubjay.surfaces.rest.requests import Body
from scrubjay.surfaces.rest.route import Asked, answer, router
from scrubjay.surfaces.rest.schemas import gives

routes = router("extract")
# A test holds them to what can be read.
Formats = Literal[
    "auto", "text", "markdown", "whatsapp", "json", "jsonl", "chatgpt", "claude", "slack", "telegram"
]  # fmt: skip
Ways = Literal["auto", "patterns", "llm"]


class ExtractAsked(Asked):
    """A conversation, and how it is to be read."""

    text: Annotated[
        Body,
        Field(
            description="The chat log: lines of `Name: text`, Markdown, JSON, JSONL, or an export of a chat program.",
            examples=["Sarah: I prefer voice calls to mail."],
        ),
    ]
    session: Annotated[Line, Field(description="The session it is filed under; the log's own name if empty.")] = ""
    project: Annotated[Line, Field(description="The project that the facts belong to.")] = ""
    format: Annotated[Formats, Field(description="How the log is written; `auto` looks.")] = "auto"
    method: Annotated[Ways, Field(description="`auto` asks a language model if there is one.")] = "auto"
    me: Annotated[Line, Field(description="The speaker who is the user, where the log calls nobody so.")] = ""
    store: Annotated[bool, Field(description="Store the facts, or only tell them.")] = True


@routes.post("/extract", summary="Extract facts from a conversation", responses=gives(Extracted, examples.EXTRACTED))
async def extract(asked: ExtractAsked, context: Writing) -> Response:
    """Find what a conversation says that is worth keeping, sentence by sentence, and store it.

    What is there already stays as it is, so that a log can be sent again. `run` names what `undo` takes back.
    """
    work = context.memory.extract(
        asked.text, session=asked.session, project=asked.project, format=asked.format, method=asked.method,
        me=asked.me, store=asked.store,
    )  # fmt: skip
    return answer(await context.write("extract", work, long=True))
