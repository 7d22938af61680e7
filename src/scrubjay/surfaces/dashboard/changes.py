"""Forms that change a memory: edit, revert, branch, forget, restore; and taking any of it back."""

from collections.abc import Mapping

from starlette.responses import Response

from scrubjay.errors import InvalidInput, NotFound, StaleVersion
from scrubjay.model.caller import Access
from scrubjay.model.memory import MAIN, Memory, Tier
from scrubjay.model.requests import (
    BranchRequest,
    ConfirmRequest,
    DropBranchRequest,
    ForgetRequest,
    MergeBranchRequest,
    RestoreRequest,
    RevertRequest,
    ReviseRequest,
    SwitchRequest,
    UndoRequest,
)
from scrubjay.model.results import Outcome
from scrubjay.surfaces.dashboard.memories import read_memory
from scrubjay.surfaces.dashboard.page import PageCall

__all__ = [
    "branch", "confirm", "drop_branch", "edit", "forget", "merge_branch", "restore", "revert", "revise", "switch",
    "undo",
]  # fmt: skip

MAX_EDITED_OBSERVATIONS = 200
"""A form shows so many observations; those of a memory with more are left as they are."""
_LABELS = ("title", "kind", "category", "project")


async def edit(page: PageCall) -> Response:
    """Show the form of a memory, to those who may send it."""
    page.grant.access.require(Access.AGENT, verb="edit")
    shown = await read_memory(page)
    return _form(page, shown, values=_values_of(shown))


async def revise(page: PageCall) -> Response:
    """Change a memory, unless it has changed since the form was shown: then show both."""
    before = await read_memory(page)
    sent = _sent_values(page)
    stored = _values_of(before)
    changes = {name: value for name, value in sent.items() if value != stored[name]}
    try:
        if changes:
            await page.call(
                ReviseRequest.of(
                    id=before.id, expected_version=page.number("version"), message=page.text("message"), **changes
                )
            )
    except StaleVersion as error:
        return _form(page, before, values={**stored, **sent}, problem=error.message, status=409)
    except InvalidInput as error:
        return _form(page, before, values={**stored, **sent}, problem=str(error), status=422)
    return page.redirect("memory", id=before.id, did="revised" if changes else "")


async def revert(page: PageCall) -> Response:
    """Restore an earlier version as a new one."""
    to = page.number("to")
    if to is None:
        raise InvalidInput("no version was chosen", field="to")
    done = await page.call(RevertRequest(id=page.text("id"), to=to))
    return page.redirect("memory", id=done.id, did="reverted")


async def branch(page: PageCall) -> Response:
    """Create a branch, and switch to it."""
    done = await page.call(
        BranchRequest(id=page.text("id"), name=page.text("name").strip(), description=page.text("about"), switch=True)
    )
    return page.redirect("memory", id=done.id, did="branched")


async def switch(page: PageCall) -> Response:
    """Make another branch the current one."""
    done = await page.call(SwitchRequest(id=page.text("id"), name=page.text("name") or MAIN))
    return page.redirect("memory", id=done.id)


async def merge_branch(page: PageCall) -> Response:
    """Merge a branch into main; where both have changed, the form asks which one holds."""
    prefer = page.text("prefer")
    merged = await page.call(MergeBranchRequest.of(id=page.text("id"), name=page.text("name"), prefer=prefer))
    if merged.action == "conflict":
        shown = await read_memory(page)
        return page.render("merge.html", status=409, memory=shown, merged=merged, name=page.text("name"))
    await page.call(SwitchRequest(id=merged.id, name=MAIN))
    return page.redirect("memory", id=merged.id, did="merged")


async def drop_branch(page: PageCall) -> Response:
    """Move a branch to the trash."""
    done = await page.call(DropBranchRequest(id=page.text("id"), name=page.text("name")))
    return page.redirect("memory", id=done.id, did="dropped")


async def forget(page: PageCall) -> Response:
    """Move a memory to the trash."""
    _require_done(await page.call(ForgetRequest(ids=(page.text("id"),))))
    return page.redirect("trash", did="forgotten")


async def restore(page: PageCall) -> Response:
    """Bring a memory back from the trash."""
    done = _require_done(await page.call(RestoreRequest(ids=(page.text("id"),))))
    return page.redirect("memory", id=done.done[0].id, did="restored")


async def confirm(page: PageCall) -> Response:
    """Confirm that a memory still holds."""
    done = _require_done(await page.call(ConfirmRequest(ids=(page.text("id"),))))
    return page.redirect("memory", id=done.done[0].id, did="confirmed")


async def undo(page: PageCall) -> Response:
    """Take a change back; what has changed since is left alone, and named."""
    run = page.text("run")
    if not run:
        raise InvalidInput("no change was named", field="run")
    undone = await page.call(UndoRequest(run=run))
    left_alone = "undone-some" if undone.done else "undone-none"
    return page.redirect_back(did=left_alone if undone.skipped else "undone")


def _form(
    page: PageCall, memory: Memory, *, values: Mapping[str, object], problem: str = "", status: int = 200
) -> Response:  # fmt: skip
    return page.render(
        "edit.html", status=status, memory=memory, values=values, problem=problem, tiers=tuple(Tier),
        edits_observations=len(memory.observations) <= MAX_EDITED_OBSERVATIONS,
    )  # fmt: skip


def _values_of(memory: Memory) -> dict[str, object]:
    """Return what the form shows of a memory."""
    return {
        "text": memory.content, "title": memory.title, "kind": memory.kind, "category": memory.category,
        "project": memory.project, "tags": memory.tags, "tier": memory.tier.value, "pinned": memory.pinned,
        "observations": tuple(item.text for item in memory.observations if item.valid_until is None),
    }  # fmt: skip


def _sent_values(page: PageCall) -> dict[str, object]:
    """Return what the form has sent; what it did not show is left out."""
    values: dict[str, object] = {name: page.text(name).strip() for name in _LABELS}
    values |= {"text": page.text("text"), "tier": page.text("tier"), "pinned": page.text("pinned") == "on"}
    values["tags"] = tuple(tag.strip() for tag in page.text("tags").split(",") if tag.strip())
    if page.text("edits_observations"):
        values["observations"] = tuple(page.texts("observation"))
    return values


def _require_done(outcome: Outcome) -> Outcome:
    for missing in outcome.missing:
        raise missing.error
    if not outcome.done:
        raise NotFound("nothing was changed", hint="It may have been changed by another")
    return outcome
