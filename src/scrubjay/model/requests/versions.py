"""The verbs of versions and branches."""

from typing import Annotated, Literal

from scrubjay.lazy import dataclass
from scrubjay.model.arguments import Arg, Request
from scrubjay.model.branch import Branches, BranchMerged
from scrubjay.model.memory import MAIN
from scrubjay.model.query import LABEL
from scrubjay.model.requests.memories import IdempotencyKey, Message, OnBranch, Ref
from scrubjay.model.results import History, Undone, Written

__all__ = [
    "BranchRequest",
    "BranchesRequest",
    "CommitRequest",
    "DropBranchRequest",
    "HistoryRequest",
    "MergeBranchRequest",
    "OutcomeRequest",
    "RevertRequest",
    "SwitchRequest",
    "UndoRequest",
]

BranchName = Annotated[str, Arg("Name of the branch.", example="draft", length=LABEL, positional=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRequest(Request[History]):
    """Return the versions of a memory, newest first; with `diff=[a, b]`, compare two.

    The name of a branch means its newest version.
    """

    id: Ref
    limit: Annotated[int, Arg("Maximum number of versions.", maximum=1_000, flags="--limit -n")] = 20
    before: Annotated[int | None, Arg("Only versions before this one, for the next page.", metavar="VERSION")] = None
    diff: Annotated[
        tuple[int | str, ...] | None,
        Arg("Compare these two versions or branches.", example=[1, 2], brief="versions or branches"),
    ] = None
    branch: OnBranch = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RevertRequest(Request[Written]):
    """Restore an earlier version as a new one."""

    id: Ref
    to: Annotated[int, Arg("The version to restore.", example=1)]
    message: Message = ""
    branch: OnBranch = ""
    idempotency_key: IdempotencyKey = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRequest(Request[Written]):
    """Create a version with a message and unchanged content; with `label`, give the message to the current version."""

    id: Ref
    message: Annotated[
        str, Arg("Description of this version.", example="As agreed with Sarah", length=1_000, flags="--message -m")
    ]
    branch: OnBranch = ""
    label: Annotated[bool, Arg("Add the message to the current version, and make no other.")] = False
    idempotency_key: IdempotencyKey = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchRequest(Request[Branches]):
    """Create a branch of a memory; main does not show its changes."""

    id: Ref
    name: BranchName
    description: Annotated[
        str, Arg("Purpose of the branch.", example="What if she moves?", length=1_000, flags="--description -d")
    ] = ""
    at: Annotated[int | None, Arg("Start at this version of main. Default: the newest.", metavar="VERSION")] = None
    switch: Annotated[bool, Arg("Switch the memory to the branch at once.", flags="--switch -s")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchesRequest(Request[Branches]):
    """Return the branches of a memory, and the current one."""

    id: Ref


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchRequest(Request[Branches]):
    """Make another branch the current one of a memory."""

    id: Ref
    name: BranchName


@dataclass(frozen=True, slots=True, kw_only=True)
class DropBranchRequest(Request[Branches]):
    """Move a branch to the trash."""

    id: Ref
    name: BranchName


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeBranchRequest(Request[BranchMerged]):
    """Merge a branch into another; conflicts are reported, and then nothing is written."""

    id: Ref
    name: BranchName
    into: Annotated[str, Arg("Target branch.", length=LABEL, metavar="BRANCH")] = MAIN
    prefer: Annotated[
        Literal["", "ours", "theirs"],
        Arg("Winner of conflicts: `ours` is the value of the target branch, `theirs` that of the merged one."),
    ] = ""
    message: Message = ""
    idempotency_key: IdempotencyKey = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoRequest(Request[Undone]):
    """Undo the last change of this agent, or a named run."""

    run: Annotated[
        str, Arg("Name or id of a run. Default: the last change of this agent.", length=LABEL)
    ] = ""  # fmt: skip
    idempotency_key: IdempotencyKey = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeRequest(Request[dict[str, bool]]):
    """Return for each run whether it committed a change, for callers whose answer was lost."""

    runs: Annotated[
        tuple[str, ...], Arg("Names or ids of runs.", example=["nightly"], length=LABEL, items=1_000, positional=True)
    ]
