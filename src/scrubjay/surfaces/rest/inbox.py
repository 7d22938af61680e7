"""The inbox: memories that wait for approval by a person."""

from dataclasses import dataclass

from fastapi import Response

from scrubjay.model.memory import Memory
from scrubjay.model.requests import ApproveRequest, DeclineRequest, InboxRequest
from scrubjay.model.results import Outcome
from scrubjay.surfaces.rest import examples
from scrubjay.surfaces.rest.deps import OneSpaceContext, WriteContext
from scrubjay.surfaces.rest.memories import selection_from
from scrubjay.surfaces.rest.requests import SelectionBody
from scrubjay.surfaces.rest.route import ListLimit, json_response, router
from scrubjay.surfaces.rest.schemas import response_schema

routes = router("inbox")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbox:
    """Memories that wait for approval."""

    memories: tuple[Memory, ...]


@routes.get("/inbox", summary="List the inbox", responses=response_schema(Inbox, examples.INBOX))
async def inbox(context: OneSpaceContext, limit: ListLimit = 50) -> Response:
    """List the memories that wait for approval. Searches do not find them until then."""
    work = context.dependencies.engine.inbox(InboxRequest(limit=limit), who=context.who)
    return json_response(Inbox(memories=await context.read("inbox", work)))


@routes.post("/inbox/approve", summary="Approve memories", responses=response_schema(Outcome, examples.APPROVED))
async def approve(body: SelectionBody, context: WriteContext) -> Response:
    """Approve memories that wait in the inbox."""
    work = context.dependencies.engine.approve(ApproveRequest.of(**selection_from(body)), who=context.who)
    return json_response(await context.write("approve", work))


@routes.post("/inbox/decline", summary="Decline memories", responses=response_schema(Outcome, examples.DECLINED))
async def decline(body: SelectionBody, context: WriteContext) -> Response:
    """Move memories that wait in the inbox to the trash. `restore` reverts this."""
    work = context.dependencies.engine.decline(DeclineRequest.of(**selection_from(body)), who=context.who)
    return json_response(await context.write("decline", work))
