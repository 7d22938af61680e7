"""The verbs of curation: plan, apply and report what keeps a space in order."""

from dataclasses import dataclass
from typing import Annotated

from scrubjay.model.arguments import Arg, Request
from scrubjay.model.curation import CurationReport
from scrubjay.model.query import LABEL

__all__ = ["CurateRequest", "CurationsRequest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CurateRequest(Request[CurationReport]):
    """Run the jobs that keep the space in order, such as moving unused memories to another tier.

    Every change is a version: `undo` with the id of the run takes all of them back. A run that was interrupted goes on.
    """

    jobs: Annotated[
        tuple[str, ...],
        Arg("Jobs to run, in this order. Default: all.", example=["tiers"], length=LABEL, items=50, positional=True,
            single=True),
    ] = ()  # fmt: skip
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
