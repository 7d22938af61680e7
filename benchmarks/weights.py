"""What a memory weighs: bytes by table and index of a PostgreSQL database, or by file of a data folder."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg.rows import tuple_row

# Partitions are counted with the table they are part of, and what is stored apart (TOAST) with its table.
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
    """What a whole store holds, and what each part of it takes."""

    memories: int
    versions: int
    passages: int
    vectors: int
    changes: int
    dimension: int
    relations: tuple[Relation, ...]

    @property
    def size(self) -> int:
        """All of it."""
        return sum(relation.size for relation in self.relations)

    @property
    def per_memory(self) -> float:
        """Bytes for one memory."""
        return self.size / max(1, self.memories)

    def of_vector_index(self) -> int:
        """What indexes over vectors take."""
        return sum(relation.size for relation in self.relations if relation.kind in ("hnsw", "ivfflat"))

    def by_table(self) -> Mapping[str, tuple[int, int]]:
        """Bytes of each table and of all its indexes, the largest first."""
        results: dict[str, tuple[int, int]] = {}
        for relation in self.relations:
            rows, indexes = results.get(relation.table, (0, 0))
            results[relation.table] = (
                (rows, indexes + relation.size) if relation.index else (rows + relation.size, indexes)
            )
        return dict(sorted(results.items(), key=lambda item: -sum(item[1])))


def weigh_database(url: str) -> Weights:
    """The weights of a database; `url` is that of a role that sees all of it, a superuser's for example."""
    with psycopg.connect(url, autocommit=True, row_factory=tuple_row) as connection:
        # What was filled in haste has not been tidied yet.
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
    """Bytes on disk of each file or folder in a data folder; some files are mostly holes, so blocks count."""
    return {
        entry.name: sum(
            path.stat().st_blocks * 512 for path in ([entry] if entry.is_file() else entry.rglob("*")) if path.is_file()
        )
        for entry in sorted(folder.iterdir())
    }
