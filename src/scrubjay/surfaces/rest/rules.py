"""The rules of a space: what becomes of what is written into it."""

from fastapi import Response

from scrubjay.model.rules import Rules
from scrubjay.surfaces.rest import examples
from scrubjay.surfaces.rest.deps import Watching, Writing
from scrubjay.surfaces.rest.requests import RulesAsked
from scrubjay.surfaces.rest.route import answer, router
from scrubjay.surfaces.rest.schemas import gives

routes = router("rules")


@routes.get("/rules", summary="Read the rules", responses=gives(Rules, examples.RULES))
async def rules(context: Watching) -> Response:
    """All rules of the space, also those that are at their defaults."""
    return answer(await context.read("rules", context.dependencies.engine.rules(who=context.who)))


@routes.patch("/rules", summary="Change the rules", responses=gives(Rules, examples.RULES))
async def set_rules(asked: RulesAsked, context: Writing) -> Response:
    """Set some of them anew, for what is written from now on."""
    changes = asked.model_dump(mode="json", exclude_unset=True)
    if not changes:
        return await rules(context)
    return answer(await context.write("set_rules", context.dependencies.engine.set_rules(changes, who=context.who)))
