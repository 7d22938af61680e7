"""Measures storage: bytes by table and index of a PostgreSQL database, or by file of a data folder."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg.rows import tuple_row

# Partitions and TOAST count as part of their table.
_RELATIONS = """
WITH RECURSIVE tree AS (
  SELECT c.oid, c.oid AS root FROM pg_class c
    WHERE c.relnamespace = 'scrubjay'::regnamespace AND c.relkind IN ('r', 'p', 'i', 'I') AND NOT c.relispartition
  UNION ALL
  SELECT i.inhrelid, t.root FROM pg_inherits i JOIN tree t ON i.inhparent = t.oid
)
SELECT coalesce(owner.relname, root.relname), CASE WHEN root.relkind IN ('i', 'I') THEN root.relname ELSE '' END,
  coalesce(kind.amname, ''), sum(CASE WHEN root.relkind IN ('i', 'I') THEN pg_total_relation_size(tree.oid)
    ELSE pg_table_size(tree.oid) END)::bigint
FROM tree JOIN pg_class root ON root.oid = tree.root
  LEFT JOIN pg_index x ON x.indexrelid = root.oid LEFT JOIN pg_class owner ON owner.oid = x.indrelid
  LEFT JOIN pg_am kind ON kind.oid = root.relam AND root.relkind IN ('i', 'I')
GROUP BY 1, 2, 3 ORDER BY 1, 2"""
_COUNTS = """
SELECT (SELECT count(*) FROM scrubjay.memories), (SELECT count(*) FROM scrubjay.versions),
  (SELECT count(*) FROM scrubjay.passages), (SELECT count(*) FROM scrubjay.vectors),
  (SELECT count(*) FROM scrubjay.changes), coalesce((SELECT max(dimension) FROM scrubjay.models), 0)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A table without its indexes, or one index."""

    table: str
    index: str
    kind: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """The contents of a store, and the bytes of each part."""

    memories: int
    versions: int
    passages: int
    vectors: int
    changes: int
    dimension: int
    relations: tuple[Relation, ...]

    @property
    def size(self) -> int:
        """The bytes of all relations."""
        return sum(relation.size for relation in self.relations)

    @property
    def per_memory(self) -> float:
        """The bytes per memory."""
        return self.size / max(1, self.memories)

    def of_vector_index(self) -> int:
        """Return the bytes of indexes over vectors."""
        return sum(relation.size for relation in self.relations if relation.kind in ("hnsw", "ivfflat"))

    def by_table(self) -> Mapping[str, tuple[int, int]]:
        """Return the bytes of each table and of its indexes, the largest first."""
        sizes: dict[str, tuple[int, int]] = {}
        for relation in self.relations:
            rows, indexes = sizes.get(relation.table, (0, 0))
            sizes[relation.table] = (
                (rows, indexes + relation.size) if relation.index else (rows + relation.size, indexes)
            )
        return dict(sorted(sizes.items(), key=lambda item: -sum(item[1])))


def weigh_database(url: str) -> Weights:
    """Measure a database; the role of `url` must see all of it, as a superuser does."""
    with psycopg.connect(url, autocommit=True, row_factory=tuple_row) as connection:
        # The statistics of a new database are missing.
        connection.execute("VACUUM ANALYZE")
        counts = connection.execute(_COUNTS).fetchall()[0]
        relations = tuple(
            Relation(table=str(table), index=str(index), kind=str(kind), size=int(size))
            for table, index, kind, size in connection.execute(_RELATIONS).fetchall()
        )
    memories, versions, passages, vectors, changes, dimension = (int(count) for count in counts)
    return Weights(
        memories=memories, versions=versions, passages=passages, vectors=vectors, changes=changes,
        dimension=dimension, relations=relations,
    )  # fmt: skip


def weigh_folder(folder: Path) -> Mapping[str, int]:
    """Return the bytes on disk of each entry of a data folder, by blocks because some files are sparse."""
    return {
        entry.name: sum(
            path.stat().st_blocks * 512 for path in ([entry] if entry.is_file() else entry.rglob("*")) if path.is_file()
        )
        for entry in sorted(folder.iterdir())
    }
