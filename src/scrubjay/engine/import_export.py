"""Ways in and out: the knowledge graph, exports and imports, and vectors that are made later."""

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress

from scrubjay.engine.dependencies import Dependencies
from scrubjay.errors import EmbeddingUnavailable
from scrubjay.graph.jsonl import FORMATS, is_graph, require_format
from scrubjay.graph.knowledge import KnowledgeGraph
from scrubjay.graph.transfer import export_graph, import_graph
from scrubjay.indexing.backfill import backfill, embed_some
from scrubjay.model.draft import Caller
from scrubjay.model.memory import Method, Source
from scrubjay.model.transfer import Imported, Lines
from scrubjay.ports import Progress
from scrubjay.transfer.export import export_lines
from scrubjay.transfer.import_ import import_lines
from scrubjay.writing.screen import redact_label


class ImportExport(Dependencies):
    """Ways in and out: the knowledge graph, exports and imports, and vectors that are made later."""

    __slots__ = ()

    def knowledge_graph(self, *, who: Caller, project: str = "", method: Method = Method.AGENT) -> KnowledgeGraph:
        """A space as entities and relations between them."""
        return KnowledgeGraph(
            context=self._write_context, text_caches=self.text_caches, clock=self.clock, space=who.space,
            origin=self._origin(who),
            source=Source(method=method, agent=redact_label(who.agent)), settled=self.index.after_commit,
            project=project,
        )  # fmt: skip

    def export(self, *, who: Caller, format: str = FORMATS[0], progress: Progress | None = None) -> AsyncIterator[str]:
        """The lines of an export of a space: all there is, or its knowledge graph as the reference server keeps it."""
        if require_format(format) != FORMATS[0]:
            return export_graph(self.knowledge_graph(who=who), progress=progress)
        return export_lines(space=who.space, store=self.store, now=self.clock.now(), progress=progress)

    async def import_(self, lines: Lines, *, who: Caller, progress: Progress | None = None) -> Imported:
        """Take in an export, or a file of the reference knowledge-graph server; vectors follow by `embed_missing`."""
        if is_graph(lines):
            graph = self.knowledge_graph(who=who, method=Method.IMPORT)
            return await import_graph(lines, graph=graph, progress=progress)
        return await import_lines(lines, space=who.space, origin=self._origin(who), store=self.store, progress=progress)

    async def embed_missing(self, *, progress: Progress | None = None) -> int:
        """Embed what has no vector yet; without a model that is nothing, and `status` says so."""
        count = 0
        with suppress(EmbeddingUnavailable):
            count = await backfill(
                store=self.store, embedder=self.embedder, clock=self.clock, gallery=self.gallery, progress=progress
            )
        await self.index.after_commit()
        return count

    async def embed_some(self, ids: Sequence[str], *, who: Caller) -> None:
        """Embed what some memories have no vector of yet, such as pictures; without a model that is nothing."""
        with suppress(EmbeddingUnavailable):
            await embed_some(
                who.space, ids, store=self.store, embedder=self.embedder, clock=self.clock, gallery=self.gallery
            )
        await self.index.after_commit()
