"""Extraction of facts from conversations."""

from typing import Annotated

from fastapi import Response

from scrubjay.model.fact import Extracted
from scrubjay.model.requests import ExtractRequest
from scrubjay.surfaces.rest import examples
from scrubjay.surfaces.rest.deps import WriteContext
from scrubjay.surfaces.rest.requests import Fields, body_of
from scrubjay.surfaces.rest.route import json_response, router
from scrubjay.surfaces.rest.schemas import response_schema

routes = router("extract")


@routes.post(
    "/extract",
    summary="Extract facts from a conversation",
    responses=response_schema(Extracted, examples.EXTRACTED),
)
async def extract(body: Annotated[Fields, body_of(ExtractRequest)], context: WriteContext) -> Response:
    """Extract the facts of a conversation, sentence by sentence, and store them.

    Stored facts stay as they are, so you can send a log again. Pass `run` to `undo` to revert the call.
    """
    return json_response(await context.call(ExtractRequest.of(**body)))
