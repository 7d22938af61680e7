"""Programs that compute over the memory, where it is."""

from typing import Annotated

from fastapi import Response

from scrubjay.model.code import CodeResult
from scrubjay.model.requests import RunCodeRequest
from scrubjay.surfaces.rest.deps import ProgramContext
from scrubjay.surfaces.rest.requests import Fields, body_of
from scrubjay.surfaces.rest.route import json_response, router
from scrubjay.surfaces.rest.schemas import response_schema

routes = router("code")


@routes.post("/code", summary="Run a program", responses=response_schema(CodeResult))
async def run_code(body: Annotated[Fields, body_of(RunCodeRequest)], context: ProgramContext) -> Response:
    """Run a Python program, which may do what its caller may; `POST /undo` takes its run back. Or read on in a result.

    A program that fails is an answer too: `success` is false, with the error and its line.
    """
    try:
        return json_response(await context.call(RunCodeRequest.of(**body)))
    finally:
        context.dependencies.changes.nudge()
