"""Which cross-encoder, and what it may do."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A model by its name or its folder. It is fetched from the network only if `download` allows."""

    model: str
    cache: Path
    download: bool = False
    threads: int = 2

    @property
    def folder(self) -> Path | None:
        """The folder that the model lies in, if it is named by its place."""
        path = Path(self.model).expanduser().absolute()
        return path if path.is_dir() else None

    @property
    def hint(self) -> str:
        """What to do when it cannot be loaded."""
        if self.download:
            return "See SCRUBJAY_RERANKER_MODEL, and whether the network can be reached"
        return "Set SCRUBJAY_ALLOW_DOWNLOAD=true once to fetch it, or name its folder with SCRUBJAY_RERANKER_MODEL"
