"""The jobs of curation, in the order in which a run does them."""

from collections.abc import Sequence

from scrubjay.curation.consolidate import ConsolidateJob
from scrubjay.curation.duplicates import DuplicatesJob
from scrubjay.curation.plan import CurationJob
from scrubjay.curation.prune import PruneJob
from scrubjay.curation.tag_consolidation import TagsJob
from scrubjay.curation.tiers import TierJob
from scrubjay.curation.upkeep import BodiesJob, VectorsJob
from scrubjay.model.curation import JobName

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


def chosen_jobs(names: Sequence[JobName]) -> tuple[str, ...]:
    """Return the names of the jobs to run, each once; all of them if none is named."""
    return tuple(dict.fromkeys(names)) or tuple(JOBS)
