"""The inbox: memories that wait for approval by a person."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Response

from scrubjay.model.memory import Memory
from scrubjay.model.requests import ApproveRequest, DeclineRequest, InboxRequest
from scrubjay.model.results import Outcome
from scrubjay.surfaces.rest import examples
from scrubjay.surfaces.rest.deps import OneSpaceContext, WriteContext
from scrubjay.surfaces.rest.requests import Fields, SelectionBody, query_of
from scrubjay.surfaces.rest.route import json_response, router
from scrubjay.surfaces.rest.schemas import response_schema

routes = router("inbox")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbox:
    """Memories that wait for approval."""

    memories: tuple[Memory, ...]


@routes.get("/inbox", summary="List the inbox", responses=response_schema(Inbox, examples.INBOX))
async def inbox(context: OneSpaceContext, query: Annotated[Fields, Depends(query_of(InboxRequest))]) -> Response:
    """List the memories that wait for approval. Searches do not find them until then."""
    return json_response(Inbox(memories=await context.call(InboxRequest.of(**query))))


@routes.post("/inbox/approve", summary="Approve memories", responses=response_schema(Outcome, examples.APPROVED))
async def approve(body: SelectionBody, context: WriteContext) -> Response:
    """Approve memories that wait in the inbox."""
    return json_response(await context.call(ApproveRequest.of(**body)))


@routes.post("/inbox/decline", summary="Decline memories", responses=response_schema(Outcome, examples.DECLINED))
async def decline(body: SelectionBody, context: WriteContext) -> Response:
    """Move memories that wait in the inbox to the trash. `restore` reverts this."""
    return json_response(await context.call(DeclineRequest.of(**body)))
