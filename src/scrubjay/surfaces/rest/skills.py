"""Skills: save, list, read and run procedures."""

from typing import Annotated

from fastapi import Depends, Path, Response

from scrubjay.lazy import dataclass
from scrubjay.model.code import CodeResult
from scrubjay.model.requests import ListSkillsRequest, LoadSkillRequest, RunSkillRequest, SaveSkillRequest
from scrubjay.model.skill import SavedSkill, Skill
from scrubjay.surfaces.rest.deps import OneSpaceContext, ProgramContext, WriteContext
from scrubjay.surfaces.rest.memories import IfMatch
from scrubjay.surfaces.rest.requests import MAX_LABEL_LENGTH, Fields, body_of, query_of
from scrubjay.surfaces.rest.route import json_response, router, version_from
from scrubjay.surfaces.rest.schemas import response_schema

routes = router("skills")

SkillName = Annotated[
    str,
    Path(alias="name", max_length=MAX_LABEL_LENGTH, description="Id or name of a skill.", examples=["count_kind"]),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillList:
    """Skills, without their sources."""

    skills: tuple[Skill, ...]


@routes.get("/skills", summary="List skills", responses=response_schema(SkillList))
async def list_skills(
    context: OneSpaceContext, query: Annotated[Fields, Depends(query_of(ListSkillsRequest))]
) -> Response:  # fmt: skip
    """List skills with their runs, mean time and success rate, the latest first or those that answer a query."""
    return json_response(SkillList(skills=await context.call(ListSkillsRequest.of(**query))))


@routes.post("/skills", summary="Save a skill", responses=response_schema(SavedSkill))
async def save_skill(
    body: Annotated[Fields, body_of(SaveSkillRequest)], context: WriteContext, match: IfMatch = ""
) -> Response:
    """Save a function as a skill, or the next version of one, after it was run with its example.

    Whatever the example writes is stored.
    """
    try:
        return json_response(await context.call(SaveSkillRequest.of(expected_version=version_from(match), **body)))
    finally:
        context.dependencies.changes.nudge()


@routes.get("/skills/{name}", summary="Read a skill", responses=response_schema(Skill))
async def load_skill(name: SkillName, context: OneSpaceContext) -> Response:
    """Read a skill with its source."""
    return json_response(await context.call(LoadSkillRequest(name=name)))


@routes.post("/skills/{name}/run", summary="Run a skill", responses=response_schema(CodeResult))
async def run_skill(
    name: SkillName, body: Annotated[Fields, body_of(RunSkillRequest, without=["name"])], context: ProgramContext
) -> Response:
    """Run a skill, which may do what its caller may. One that fails is an answer too: `success` is false."""
    try:
        return json_response(await context.call(RunSkillRequest.of(name=name, **body)))
    finally:
        context.dependencies.changes.nudge()
