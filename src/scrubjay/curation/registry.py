"""The jobs of curation, in the order in which a run does them."""

from collections.abc import Sequence

from scrubjay.curation.consolidate import ConsolidateJob
from scrubjay.curation.duplicates import DuplicatesJob
from scrubjay.curation.plan import CurationJob
from scrubjay.curation.prune import PruneJob
from scrubjay.curation.tag_consolidation import TagsJob
from scrubjay.curation.tiers import TierJob
from scrubjay.curation.upkeep import BodiesJob, VectorsJob
from scrubjay.errors import InvalidInput

_ALL: tuple[CurationJob, ...] = (
    TierJob(),
    DuplicatesJob(),
    ConsolidateJob(),
    PruneJob(),
    TagsJob(),
    VectorsJob(),
    BodiesJob(),
)

JOBS: dict[str, CurationJob] = {job.name: job for job in _ALL}
"""The jobs by name."""


def require_jobs(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the jobs to run, all of them if none is named; raise InvalidInput for an unknown one."""
    for name in names:
        if name not in JOBS:
            raise InvalidInput(
                f"there is no job {name[:100]!r}", hint=f"The jobs are {', '.join(JOBS)}", field="jobs"
            )  # fmt: skip
    return tuple(dict.fromkeys(names)) or tuple(JOBS)
