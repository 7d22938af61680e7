"""What an agent should know before it begins."""

from typing import Annotated

from fastapi import Header, Query, Response

from scrubjay.model.results import Context
from scrubjay.surfaces.rest import examples
from scrubjay.surfaces.rest.deps import Watching
from scrubjay.surfaces.rest.fields import Count, Label
from scrubjay.surfaces.rest.route import answer, router
from scrubjay.surfaces.rest.schemas import gives

routes = router("context")
_MARKDOWN = "text/markdown"
_TOLD = gives(Context, examples.CONTEXT, also={_MARKDOWN: str(examples.CONTEXT["text"])})


@routes.get("/context", summary="Begin a session", responses=_TOLD)
async def context(
    context: Watching,
    session: Annotated[Label, Query(description="The session that begins: it is not told as the last one.")] = "",
    project: Annotated[Label, Query(description="What was said last is told of this project alone.")] = "",
    max_tokens: Annotated[Count, Query(description="The text fits into so many tokens of a language model.")] = 1_500,
    accept: Annotated[str, Header(include_in_schema=False)] = "",
) -> Response:
    """Who the person is, what is pinned, what is due, what contradicts itself, and what the last session said.

    As JSON, or as Markdown for whoever asks with `Accept: text/markdown`.
    """
    work = context.memory.context(session=session, project=project, max_tokens=max_tokens)
    results = await context.read("context", work)
    if _MARKDOWN in accept.lower():
        return Response(results.text, headers={"vary": "accept"}, media_type=_MARKDOWN)
    return answer(results, headers={"vary": "accept"})
