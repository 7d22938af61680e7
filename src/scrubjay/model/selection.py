"""Which memories something is done to."""

from dataclasses import dataclass, field

from scrubjay.model.query import Filter
from scrubjay.model.results import Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which memories: by reference, or all that pass a filter; `group` takes their siblings along.

    `branch`: not they themselves, but their branches of this name.
    """

    refs: tuple[str, ...] = ()
    filter: Filter | None = None
    group: bool = False
    branch: str = ""
    reason: str = ""
    dry_run: bool = False
    missing: tuple[Missing, ...] = field(default=())
