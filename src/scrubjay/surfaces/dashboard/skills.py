"""Pages of skills: what each one does, and a form that runs it."""

import json
from typing import cast

from starlette.responses import Response

from scrubjay.errors import InvalidInput
from scrubjay.model.code import CodeResult
from scrubjay.model.memory import Json
from scrubjay.model.requests import ListSkillsRequest, LoadSkillRequest, RunSkillRequest
from scrubjay.surfaces.dashboard.page import PageCall
from scrubjay.surfaces.rest.strict_json import NotJsonError, parse_json

__all__ = ["list_skills", "run_skill", "show_skill"]


async def list_skills(page: PageCall) -> Response:
    """Show the skills of the space."""
    return page.render("skills.html", skills=await page.call(ListSkillsRequest(query=page.text("q"))))


async def show_skill(page: PageCall) -> Response:
    """Show a skill with its source, and a form to run it."""
    return await _skill_page(page, arguments="")


async def run_skill(page: PageCall) -> Response:
    """Run a skill, and show what it computed."""
    typed = page.text("arguments")
    try:
        result = await page.call(RunSkillRequest(name=page.text("name"), arguments=_parse(typed)))
    except InvalidInput as error:
        return await _skill_page(page, arguments=typed, problem=error.message, status=422)
    finally:
        page.dependencies.changes.nudge()
    return await _skill_page(page, arguments=typed, result=result)


def _parse(typed: str) -> dict[str, Json]:
    try:
        arguments = parse_json((typed.strip() or "{}").encode("utf-8", "surrogatepass"))
    except NotJsonError as error:
        raise InvalidInput(f"the arguments are not JSON: {error}", field="arguments") from None
    if not isinstance(arguments, dict):
        raise InvalidInput('the arguments must be an object, such as {"kind": "decision"}', field="arguments")
    return cast("dict[str, Json]", arguments)


async def _skill_page(
    page: PageCall, *, arguments: str, result: CodeResult | None = None, problem: str = "", status: int = 200
) -> Response:
    skill = await page.call(LoadSkillRequest(name=page.text("name")))
    typed = arguments or json.dumps(dict(skill.example or {}), ensure_ascii=False, indent=2)
    shown = None if result is None else json.dumps(result.result, ensure_ascii=False, indent=2)
    return page.render(
        "skill.html", status=status, skill=skill, arguments=typed, result=result, shown=shown, problem=problem
    )
