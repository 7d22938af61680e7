"""The inbox: what agents have written, where a person says first whether it is kept."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Query, Response

from scrubjay.model.memory import Memory
from scrubjay.model.results import Outcome
from scrubjay.surfaces.rest import examples
from scrubjay.surfaces.rest.deps import Watching, Writing
from scrubjay.surfaces.rest.memories import selection
from scrubjay.surfaces.rest.requests import SelectionAsked
from scrubjay.surfaces.rest.route import answer, router
from scrubjay.surfaces.rest.schemas import gives

routes = router("inbox")
_LIMIT = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbox:
    """What waits for a yes."""

    memories: tuple[Memory, ...]


@routes.get("/inbox", summary="Read the inbox", responses=gives(Inbox, examples.INBOX))
async def inbox(
    context: Watching, limit: Annotated[int, Query(ge=1, le=1_000, description="So many at most.")] = _LIMIT
) -> Response:
    """The memories that wait. Nobody finds them before they are approved."""
    return answer(
        Inbox(memories=await context.read("inbox", context.dependencies.engine.inbox(who=context.who, limit=limit)))
    )


@routes.post("/inbox/approve", summary="Approve memories", responses=gives(Outcome, examples.APPROVED))
async def approve(asked: SelectionAsked, context: Writing) -> Response:
    """Keep memories that wait."""
    return answer(
        await context.write("approve", context.dependencies.engine.approve(selection(asked), who=context.who))
    )


@routes.post("/inbox/decline", summary="Decline memories", responses=gives(Outcome, examples.DECLINED))
async def decline(asked: SelectionAsked, context: Writing) -> Response:
    """Put memories that wait into the trash, from where `restore` brings them back."""
    return answer(
        await context.write("decline", context.dependencies.engine.decline(selection(asked), who=context.who))
    )
