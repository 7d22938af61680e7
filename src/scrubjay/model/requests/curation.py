"""The verbs of curation: plan, apply and report what keeps a space in order."""

from typing import Annotated, Literal

from scrubjay.lazy import dataclass
from scrubjay.model.arguments import Arg, Request
from scrubjay.model.curation import CurationReport, JobName
from scrubjay.model.query import LABEL
from scrubjay.model.results import Usage

__all__ = ["CurateRequest", "CurationsRequest", "PruneRequest", "UsageRequest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CurateRequest(Request[CurationReport]):
    """Run the jobs that keep the space in order, such as moving unused memories to another tier.

    Every change is a version: `undo` with the id of the run takes all of them back. A run that was interrupted goes on.
    """

    jobs: Annotated[
        tuple[JobName, ...],
        Arg("Jobs to run, in this order. Default: all.", example=["tiers"], items=50, positional=True, single=True),
    ] = ()
    dry_run: Annotated[bool, Arg("Only return the plan.", brief="plan only")] = False
    limit: Annotated[
        int, Arg("Maximum number of changes in the report.", minimum=0, maximum=1_000, flags="--limit -n")
    ] = 50  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class CurationsRequest(Request[tuple[CurationReport, ...]]):
    """Return the reports of earlier runs of curation, the newest first."""

    run: Annotated[str, Arg("Id of a run. Default: the newest ones.", length=LABEL)] = ""
    limit: Annotated[int, Arg("Maximum number of runs.", maximum=100, flags="--limit -n")] = 10
    changes: Annotated[int, Arg("Maximum number of changes in each report.", minimum=0, maximum=1_000)] = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneRequest(Request[CurationReport]):
    """Move memories to the trash: the expired, the long unused, and all but the best of a budget.

    Pinned memories, those that others link to and what the user stated are spared. `undo` with the id of the run takes
    it back. Without a limit, what the rules of the space say is done.
    """

    days: Annotated[
        int | None, Arg("Prune what was neither changed nor read for so many days.", example=90, minimum=1)
    ] = None  # fmt: skip
    keep: Annotated[int | None, Arg("Keep the best memories, so many of them.", minimum=0)] = None
    keep_bytes: Annotated[int | None, Arg("Keep the best memories, up to so many bytes of text.", minimum=0)] = None
    clusters: Annotated[bool, Arg("Merge memories that say the same into one.")] = False
    include: Annotated[
        tuple[Literal["pinned", "linked", "stated"], ...],
        Arg("Do not spare these; repeatable.", items=3, flags="--include", single=True),
    ] = ()
    dry_run: Annotated[bool, Arg("Only return the plan.", brief="plan only")] = False
    limit: Annotated[
        int, Arg("Maximum number of changes in the report.", minimum=0, maximum=1_000, flags="--limit -n")
    ] = 50  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRequest(Request[Usage]):
    """Return what is asked of the space, what is found and read, and which memories never are."""

    days: Annotated[int, Arg("Count the last days, so many of them.", maximum=90)] = 30
    limit: Annotated[int, Arg("Maximum number of questions, and of memories.", maximum=50, flags="--limit -n")] = 10
