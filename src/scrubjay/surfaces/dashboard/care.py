"""Pages of what waits for a person: conflicts, duplicates, the inbox, curation, jobs, and the space itself."""

from typing import get_args

from starlette.responses import Response

from scrubjay.errors import Conflict, NotFound
from scrubjay.model.curation import JobName
from scrubjay.model.requests import (
    ApproveRequest,
    CancelJobRequest,
    ConflictsRequest,
    CurateRequest,
    CurationsRequest,
    DeclineRequest,
    DuplicatesRequest,
    InboxRequest,
    JobsRequest,
    ResolveConflictRequest,
    RetryJobRequest,
    SpacesRequest,
    StatusRequest,
)
from scrubjay.surfaces.dashboard.page import PageCall

__all__ = [
    "cancel_job", "conflicts", "curate", "curation", "decide", "duplicates", "inbox", "jobs", "merge_duplicates",
    "resolve", "retry_job", "show_space",
]  # fmt: skip

_LISTED = 50
_CHANGES = 100
_SPACES = 200


async def conflicts(page: PageCall) -> Response:
    """Show the conflicts that wait for a decision, or those that were settled."""
    status = page.text("status") or "pending"
    listed = await page.call(ConflictsRequest.of(status=status, limit=_LISTED))
    return page.render("conflicts.html", conflicts=listed, status_shown=status, problem=page.text("problem"))


async def resolve(page: PageCall) -> Response:
    """Settle a conflict; if another was faster, say so and show the others."""
    request = ResolveConflictRequest.of(
        id=page.text("id"), strategy=page.text("strategy") or "auto", keep=page.text("keep")
    )
    try:
        resolved = await page.call(request)
    except (Conflict, NotFound) as error:
        listed = await page.call(ConflictsRequest(limit=_LISTED))
        return page.render(
            "conflicts.html", status=409, conflicts=listed, status_shown="pending", problem=error.message
        )
    return page.redirect_run("conflicts", resolved.run, did="settled")


async def duplicates(page: PageCall) -> Response:
    """Show the form that looks for duplicates: reading the whole space takes a while."""
    return page.render("duplicates.html", found=None, problem="")


async def merge_duplicates(page: PageCall) -> Response:
    """Find groups of memories that say the same, or merge one of them; if another was faster, say so."""
    if not page.text("merge"):
        return page.render("duplicates.html", found=await page.call(DuplicatesRequest(limit=_LISTED)), problem="")
    merged = await page.call(DuplicatesRequest(id=page.text("merge"), merge=True))
    if not merged.merged:
        problem = "Nothing was merged: another may have merged or changed these memories."
        return page.render("duplicates.html", status=409, found=None, problem=problem)
    return page.redirect_run("duplicates", merged.run, did="joined")


async def inbox(page: PageCall) -> Response:
    """Show the memories that wait for approval."""
    return page.render("inbox.html", waiting=await page.call(InboxRequest(limit=_LISTED)))


async def decide(page: PageCall) -> Response:
    """Approve or decline waiting memories."""
    request, did = (ApproveRequest, "approved") if page.text("decision") == "approve" else (DeclineRequest, "declined")
    outcome = await page.call(request(ids=tuple(page.texts("id"))))
    if not outcome.done:
        for missing in outcome.missing:
            raise missing.error
    return page.redirect_run("inbox", outcome.run or page.context.who.run, did=did)


async def curation(page: PageCall) -> Response:
    """Show what curation did, run by run."""
    reports = await page.call(CurationsRequest(run=page.text("of"), limit=10, changes=_CHANGES))
    return page.render("curation.html", reports=reports, plan=None, jobs=get_args(JobName))


async def curate(page: PageCall) -> Response:
    """Plan the jobs of curation, or run them."""
    is_plan = page.text("plan") == "yes"
    chosen = tuple(page.texts("job"))
    report = await page.call(CurateRequest.of(jobs=chosen, dry_run=is_plan, limit=_CHANGES))
    if not is_plan:
        return page.redirect_run("curation", report.run if report.has_versions else "", did="curated")
    reports = await page.call(CurationsRequest(limit=10, changes=_CHANGES))
    return page.render("curation.html", reports=reports, plan=report, jobs=get_args(JobName))


async def jobs(page: PageCall) -> Response:
    """Show the work of the background."""
    return page.render("jobs.html", jobs=await page.call(JobsRequest(limit=100)))


async def retry_job(page: PageCall) -> Response:
    """Try a job again."""
    await page.call(RetryJobRequest(id=page.text("id")))
    return page.redirect("jobs")


async def cancel_job(page: PageCall) -> Response:
    """Cancel a job."""
    await page.call(CancelJobRequest(id=page.text("id")))
    return page.redirect("jobs")


async def show_space(page: PageCall) -> Response:
    """Show the state of the space, who looks at it, and how to reach others."""
    grant = page.grant
    names = await page.call(SpacesRequest()) if grant.allows_all_spaces else grant.named_spaces
    status = await page.call(StatusRequest())
    # The store holds the spaces of others too.
    shown = status if grant.allows_all_spaces else status.limited_to_space
    return page.render("space.html", status_of=shown, grant=grant, names=names[:_SPACES])
