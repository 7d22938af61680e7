"""Extraction of facts from conversations."""

from typing import Annotated, Literal

from fastapi import Response
from pydantic import Field

from scrubjay.model.fact import Extracted
from scrubjay.surfaces.rest import examples
from scrubjay.surfaces.rest.deps import WriteContext
from scrubjay.surfaces.rest.requests import Line, NonBlankText, RequestBody
from scrubjay.surfaces.rest.route import json_response, router
from scrubjay.surfaces.rest.schemas import response_schema

routes = router("extract")
# A test compares these choices with the parsers.
Formats = Literal[
    "auto", "text", "markdown", "whatsapp", "json", "jsonl", "chatgpt", "claude", "slack", "telegram"
]  # fmt: skip
ExtractionMethods = Literal["auto", "patterns", "llm"]


class ExtractBody(RequestBody):
    """A conversation, and how to read it."""

    text: Annotated[
        NonBlankText,
        Field(
            description="The chat log: lines of `Name: text`, Markdown, JSON, JSONL, or an export of a chat program.",
            examples=["Sarah: I prefer voice calls to mail."],
        ),
    ]
    session: Annotated[
        Line, Field(description="The session to store the facts under. Default: a name derived from the log.")
    ] = ""
    project: Annotated[Line, Field(description="The project of the facts.")] = ""
    format: Annotated[Formats, Field(description="The format of the log; `auto` detects it.")] = "auto"
    method: Annotated[ExtractionMethods, Field(description="`auto` uses a language model if one is configured.")] = (
        "auto"
    )
    me: Annotated[Line, Field(description="The speaker who is the user, if the log does not mark one.")] = ""
    store: Annotated[bool, Field(description="Store the facts; false only returns them.")] = True


@routes.post(
    "/extract",
    summary="Extract facts from a conversation",
    responses=response_schema(Extracted, examples.EXTRACTED),
)
async def extract(body: ExtractBody, context: WriteContext) -> Response:
    """Extract the facts of a conversation, sentence by sentence, and store them.

    Stored facts stay as they are, so you can send a log again. Pass `run` to `undo` to revert the call.
    """
    work = context.memory.extract(
        body.text, session=body.session, project=body.project, format=body.format, method=body.method,
        me=body.me, store=body.store,
    )  # fmt: skip
    return json_response(await context.write("extract", work, long=True))
