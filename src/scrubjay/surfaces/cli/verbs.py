"""The commands of memories, of their versions and branches, and of their graph: each is named as its verb."""

import sys
from dataclasses import replace
from typing import Annotated

import typer

from scrubjay.client import MemoryClient
from scrubjay.errors import InvalidInput
from scrubjay.model import requests
from scrubjay.model.branch import parse_version_or_branch
from scrubjay.model.health import HealthReport
from scrubjay.model.memory import Source, Trust
from scrubjay.model.relation import Network
from scrubjay.model.results import History, Outcome, Remembered, Status, Written
from scrubjay.surfaces.cli.command import DryRun, Make, Yes, plain, verb
from scrubjay.surfaces.cli.render import MemoryTable, RelationPath, RelationTree, SpaceList
from scrubjay.surfaces.cli.render_health import HealthCheck

app = typer.Typer()

# The state is that of the memories to which the verb applies.
_OMITS = ("state",)
# A list for people has no budget of tokens.
_UNLIMITED = 1_000_000
_SELECTION = {"category": "Only exactly this category."}


@verb(app, served=True, begins=True, reads=("text",))
async def remember(
    client: MemoryClient,
    make: Make[requests.RememberRequest],
    *,
    session: Annotated[str, typer.Option(help="Session that the text comes from.")] = "",
    source: Annotated[
        str, typer.Option(metavar="WHOSE", help="Origin of the statement: user, agent, document or unknown.")
    ] = Trust.USER.value,
) -> Remembered:
    """Store a text, filed under every entity it is about.

    The exit code is 4 if a rule of the space rejects the text.
    """
    try:
        request = make(source={"session": session, "trust": source})
    except InvalidInput as error:
        # Each is an option of its own.
        raise error.renamed({"source.trust": "source", "source.session": "session"}) from error
    return await client.call(request)


plain(app, requests.RecallRequest, "Find memories that answer a question.")
plain(app, requests.ReadRequest, "Print memories in full.")


@verb(app, served=True, reads=("text",), omits=("source",))
async def revise(client: MemoryClient, make: Make[requests.ReviseRequest]) -> Written:
    """Change a memory and keep the previous state as a version."""
    request = make()
    has_statements = isinstance(request.text, str) or bool(request.add_observations)
    return await client.call(replace(request, source=Source(trust=Trust.USER)) if has_statements else request)


plain(
    app, requests.ForgetRequest, "Move memories to the trash; `restore` brings them back.", omits=_OMITS,
    helps=_SELECTION,
)  # fmt: skip
plain(
    app, requests.RestoreRequest, "Take memories, or a dropped branch, out of the trash.", omits=_OMITS,
    helps=_SELECTION,
)  # fmt: skip
plain(app, requests.ConfirmRequest, "Confirm that memories still hold.", omits=_OMITS, helps=_SELECTION)


# A purge also deletes from the index on disk, so this process opens it. It leaves no history that shows a reason.
@verb(app, holds_index=True, omits=(*_OMITS, "reason"), helps=_SELECTION)
async def purge(
    client: MemoryClient,
    make: Make[requests.PurgeRequest],
    *,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> Outcome:
    """Delete memories in the trash for good.

    All their versions are deleted too. You cannot undo this.
    """
    request = make(dry_run=True)
    planned = await client.call(request)
    if dry_run or not planned.done:
        return planned
    memories = "this memory" if len(planned.done) == 1 else f"{len(planned.done)} memories"
    if not yes and not _confirm(f"Delete {memories} for good?"):
        raise InvalidInput("nothing was purged", hint="Answer y, or use --yes")
    done = await client.purge([written.id for written in planned.done], derived=request.derived)
    return replace(done, missing=planned.missing)


plain(
    app,
    requests.RelateRequest,
    """Relate two memories.

    Without --relation the relation is a link, which both memories show.
    """,
)
plain(app, requests.UnrelateRequest, "Remove a relation.")
plain(
    app,
    requests.UndoRequest,
    """Undo the last change of this agent.

    If everything it touched has changed since, `undo` does nothing and the exit code is 4.
    """,
)
plain(
    app,
    requests.ContextRequest,
    """Print the context for the start of a session, as Markdown.

    It contains the user's profile, pinned memories, due reminders, contradictions, and the last session.
    """,
)
plain(app, requests.DueRequest, "List the memories whose reminder is due.")
plain(
    app,
    requests.SummarizeRequest,
    """Summarize a tag, an entity, a project or a period.

    The summary consists of their central statements, each with its date and its memory, the oldest first.
    """,
)
plain(
    app,
    requests.UsageRequest,
    """Show what is asked, found and never read.

    It lists the most frequent questions, the memories that were found and read most often, and those that never were.
    """,
)


@verb(app, served=True)
async def status(
    client: MemoryClient,
    make: Make[requests.StatusRequest],
    *,
    health: Annotated[
        bool, typer.Option("--health", help="Show the figures by day and the alerts, like `health`.")
    ] = False,
) -> Status | HealthReport:
    """Show health, sizes, backends and degraded parts."""
    return await client.health() if health else await client.call(make())


@verb(app, served=True)
async def health(
    client: MemoryClient,
    make: Make[requests.HealthRequest],
    *,
    check: Annotated[
        bool, typer.Option("--check", help="Only print the alerts; the exit code is 1 if there are any.")
    ] = False,
) -> HealthReport | HealthCheck:
    """Show what is written, by whom, and what needs attention.

    With --check it prints one line for each alert, for a script or a scheduler: the exit code is 0 without any, else 1.
    """
    report = await client.call(make())
    return HealthCheck(ok=not report.alerts, alerts=report.alerts) if check else report


plain(
    app,
    requests.SpacesRequest,
    "List the spaces of the store.",
    shown=lambda names: SpaceList(spaces=names),
)
plain(
    app,
    requests.ReembedRequest,
    "Embed everything with another model, and then use that.\n\nSearches use the old model until the new one is "
    "complete. A run that was interrupted goes on where it stopped.",
    label="embedding",
    holds_index=True,
)
plain(app, requests.DoctorRequest, "Check the store and say how to fix each problem.")


@verb(
    app,
    name="list",
    served=True,
    omits=("query", "max_tokens", "min_score", "detail", "explain", "today", "around", "from_project"),
    defaults={"limit": 20},
)
async def list_(client: MemoryClient, make: Make[requests.RecallRequest]) -> MemoryTable:
    """List memories, the newest first, one a line."""
    recalled = await client.call(make(max_tokens=_UNLIMITED))
    return MemoryTable(hits=recalled.hits, cursor=recalled.cursor)


@verb(app, served=True)
async def history(
    client: MemoryClient,
    make: Make[requests.HistoryRequest],
    *,
    diff: Annotated[
        tuple[str, str] | None, typer.Option(metavar="A B", help="Show the changes from A to B, like `diff`.")
    ] = None,
) -> History:
    """List the versions of a memory, the newest first.

    Each line shows the time, the agent, the action and the message of a version.
    """
    return await client.call(make(diff=[parse_version_or_branch(version) for version in diff] if diff else None))


@verb(app, name="log", served=True, omits=("diff",))
async def log(client: MemoryClient, make: Make[requests.HistoryRequest]) -> History:
    """List the versions of a memory, like `history`."""
    return await client.call(make())


@verb(app, name="diff", served=True, omits=("limit", "before", "diff"))
async def diff(
    client: MemoryClient,
    make: Make[requests.HistoryRequest],
    *,
    a: Annotated[
        str, typer.Argument(help="Version or branch. Default: the version before the newest.", show_default=False)
    ] = "",
    b: Annotated[str, typer.Argument(help="Version or branch. Default: the newest version.", show_default=False)] = "",
) -> History:
    """Show the changes between two versions of a memory.

    The changes are listed by field. A branch name means the newest version of the branch.
    """
    if a and b:
        return await client.call(make(diff=[parse_version_or_branch(a), parse_version_or_branch(b)]))
    newest = (await client.call(make(limit=1))).versions[0]
    if not a and newest.parent is None:
        raise InvalidInput(
            f"{newest.memory.name!r} has only one version", hint="Change it first, or name the versions to compare"
        )
    first = parse_version_or_branch(a) if a else newest.parent or newest.number
    return await client.call(make(diff=[first, newest.number]))


plain(
    app,
    requests.CommitRequest,
    """Mark the current state of a memory with a message.

    This adds a version with the same content.
    """,
)
plain(app, requests.RevertRequest, "Restore an old version of a memory as a new version.")
plain(
    app,
    requests.BranchRequest,
    """Start a branch of a memory.

    Changes on the branch are not visible on main until you merge it.
    """,
)
plain(app, requests.BranchesRequest, "List the branches of a memory; a star marks the current one.")
plain(
    app,
    requests.SwitchRequest,
    """Switch a memory to another branch.

    Reads and changes that name no branch then use this one.
    """,
)
plain(
    app,
    requests.MergeBranchRequest,
    """Merge the changes of a branch into another.

    If both branches changed the same part, nothing is merged and the exit code is 4.
    """,
)
plain(app, requests.DropBranchRequest, "Move a branch to the trash; main does not change.")


def _confirm(question: str) -> bool:
    """Ask a person; without one, or with Ctrl-C, the answer is no."""
    try:
        return typer.confirm(question, err=True)
    except typer.Abort:
        sys.stderr.write("\n")
        return False


def _tree(network: Network) -> RelationTree:
    return RelationTree(
        nodes=network.nodes, edges=network.edges, truncated=network.truncated, suggested=network.suggested
    )


def _path(network: Network) -> RelationPath:
    return RelationPath(nodes=network.nodes, edges=network.edges, truncated=network.truncated)


plain(
    app,
    requests.RelatedRequest,
    """List the memories related to a memory, the strongest first.

    Below them come memories that are near it by meaning; `relate` relates them.
    """,
    shown=_tree,
)
plain(
    app,
    requests.GraphRequest,
    """Show the neighbourhood of memories as a tree.

    Each memory appears once, where it is nearest to a start.
    """,
    shown=_tree,
    defaults={"depth": 2},
    helps={"ids": "Ids, names or titles to start from."},
)
plain(app, requests.PathRequest, "Show a shortest path from one memory to another.", shown=_path)
