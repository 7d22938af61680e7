"""Indexes on the vectors of a PostgreSQL database: which are wanted, which are there, and the statements between."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from scrubjay.errors import InvalidInput

KINDS = ("hnsw", "ivfflat")
# The type that each precision indexes, and the most dimensions that the extension takes of it.
PRECISIONS: Mapping[str, tuple[str, int]] = {"half": ("halfvec", 4_000), "full": ("vector", 2_000)}
# Iterative scans, without which a filter would lose what it leaves, came with this version.
_OLDEST_EXTENSION = (0, 8)
_MEGABYTE = 1 << 20
_MOST_MEMORY = 1024
# What a vector of the graph takes besides its numbers.
_LINKS = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Chosen by measurement with 384 numbers. What looking costs is in microseconds, and only compared."""

    # Fewer points than this have no index: it would make every write slower by more than it saves a search.
    index_from: int = 5_000
    exact: float = 0.8
    sifted: float = 5.0
    step: float = 10.0
    # So many are visited at least: .99 of the nearest are among them.
    least: int = 200
    links: int = 16
    construction: int = 64
    # Lists hold so many points each; a search begins with so many times the square root of their number.
    a_list: int = 250
    probed: float = 3.0
    # A list that has grown to so many times its size is made smaller.
    outgrown: int = 4
    # So many are put into the index at once, beside what else is done; a first index takes them in faster.
    placed_at_once: int = 50
    placed_before: int = 5_000
    # So long is waited for more of them, in seconds.
    placed_after: float = 0.5
    # How often to see, in seconds, what there is by now.
    look_again: float = 15.0
    attempts: int = 3
    # A caller who has it rebuilt does not wait any longer; it goes on without.
    patience: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An index that is there."""

    table: str
    name: str
    valid: bool
    lists: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How things stand in the database. `points` are of all spaces and partitions, more or less."""

    version: str
    schema: str
    model_no: int | None
    dimension: int
    points: int
    tables: tuple[str, ...]
    indexes: tuple[Found, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One model's index, in every table that vectors are spread over."""

    kind: str
    precision: str
    standing: Standing
    tuning: Tuning

    @property
    def type(self) -> str:
        """What a stored vector is taken for."""
        return f"{self.standing.schema}.{PRECISIONS[self.precision][0]}({self.standing.dimension})"

    @property
    def lists(self) -> int:
        """How many lists a table's points are put into."""
        return max(1, min(32_768, round(self.points / self.tuning.a_list)))

    @property
    def points(self) -> int:
        """How many points one table has, more or less."""
        return self.standing.points // max(1, len(self.standing.tables))

    @property
    def problem(self) -> str:
        """Why there can be no index; empty when there can."""
        standing, (name, most) = self.standing, PRECISIONS[self.precision]
        if tuple(int(part) for part in standing.version.split(".")[:2]) < _OLDEST_EXTENSION:
            return (
                f"pgvector {standing.version} cannot filter by an index: ALTER EXTENSION vector UPDATE (0.8 or newer)"
            )
        if standing.dimension > most:
            better = ": set SCRUBJAY_VECTOR_PRECISION to half" if standing.dimension <= PRECISIONS["half"][1] else ""
            return f"an index of {name} takes {most} dimensions, the model has {standing.dimension}{better}"
        return ""

    @property
    def is_whole(self) -> bool:
        """Whether every table has its index."""
        whole = {one.table for one in self.standing.indexes if one.valid and one.name == self.name(one.table)}
        return self.standing.model_no is not None and whole == set(self.standing.tables)

    @property
    def is_outgrown(self) -> bool:
        """Whether lists have become so long that they should be made anew."""
        ours = [one for one in self.standing.indexes if one.name == self.name(one.table)]
        return self.kind == "ivfflat" and any(self.lists >= self.tuning.outgrown * one.lists for one in ours)

    def name(self, table: str) -> str:
        """What the index of a table is called."""
        return f"{table}_{self.kind}_{self.precision}_{self.standing.model_no}"

    def way(self) -> dict[str, str | int | float]:
        """How the database should look for the nearest."""
        tuning = self.tuning
        way: dict[str, str | int | float] = {
            "exact": tuning.exact, "sifted": tuning.sifted, "step": tuning.step, "least": tuning.least,
            "points": self.points,
        }  # fmt: skip
        if self.is_whole and not self.problem:
            lists = max((one.lists for one in self.standing.indexes), default=1)
            way |= {
                "type": self.type, "schema": self.standing.schema, "lists": max(1, lists),
                "probes": min(lists, max(4, math.ceil(math.sqrt(lists) * tuning.probed))),
            }  # fmt: skip
        return way

    # ---- statements ----

    def makes(self, table: str) -> str:
        """Make the index of a table while others use it."""
        standing, operators = self.standing, f"{PRECISIONS[self.precision][0]}_cosine_ops"
        options = f"lists = {self.lists}"
        if self.kind == "hnsw":
            options = f"m = {self.tuning.links}, ef_construction = {self.tuning.construction}"
        return (
            f"CREATE INDEX CONCURRENTLY {self.name(table)} ON scrubjay.{table} USING {self.kind} "
            f"((vector::{self.type}) {standing.schema}.{operators}) WITH ({options}) "
            f"WHERE model_no = {standing.model_no} AND placed"
        )

    def makes_anew(self, table: str) -> list[str]:
        """Make the index of a table anew, while the old one is in use."""
        name = f"scrubjay.{self.name(table)}"
        lists = [f"ALTER INDEX {name} SET (lists = {self.lists})"] if self.kind == "ivfflat" else []
        return [*lists, f"REINDEX INDEX CONCURRENTLY {name}"]

    def drops(self, *, others: bool) -> list[str]:
        """Drop what was left half-made, and the indexes of other kinds that this model has."""
        ours = {self.name(table) for table in self.standing.tables}
        return [
            f"DROP INDEX CONCURRENTLY IF EXISTS scrubjay.{one.name}"
            for one in self.standing.indexes
            if not one.valid or (others and one.name not in ours and one.name.endswith(f"_{self.standing.model_no}"))
        ]

    def memory(self) -> str:
        """Room to build in: a graph that does not fit is built many times slower."""
        needed = self.points * (4 * self.standing.dimension + _LINKS) // _MEGABYTE
        return f"SET maintenance_work_mem = '{max(64, min(_MOST_MEMORY, needed))}MB'"


STANDING = """SELECT extversion, quote_ident(nspname), m.no, m.dimension,
      (SELECT coalesce(sum(passages), 0)::bigint FROM scrubjay.lexicons),
      (SELECT jsonb_agg(relname) FROM pg_class WHERE relkind = 'r' AND (oid = 'scrubjay.vectors'::regclass
        OR oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = 'scrubjay.vectors'::regclass))),
      (SELECT jsonb_agg(jsonb_build_array(t.relname, c.relname, i.indisvalid,
          (SELECT option_value FROM pg_options_to_table(c.reloptions) WHERE option_name = 'lists')))
        FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid
        JOIN pg_am a ON a.oid = c.relam
        WHERE a.amname IN ('hnsw', 'ivfflat') AND t.relnamespace = 'scrubjay'::regnamespace)
    FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
    LEFT JOIN scrubjay.models m ON m.name = %s WHERE extname = 'vector'"""


def standing_of(row: Sequence[object], *, model: str, dimension: int) -> Standing:
    """What the database said; raises InvalidInput when the model's vectors have another length there."""
    version, schema, number, stored, points, tables, indexes = row
    if stored is not None and stored != dimension:
        raise InvalidInput(
            f"model {model!r} has {stored} dimensions in this store, the embedder gives {dimension}",
            hint="Name the changed model differently in SCRUBJAY_EMBEDDING_MODEL",
            model=model,
        )
    return Standing(
        version=str(version),
        schema=str(schema),
        model_no=cast("int | None", number),
        dimension=dimension,
        points=cast("int", points),
        tables=tuple(cast("list[str]", tables)),
        indexes=tuple(
            Found(table=str(table), name=str(name), valid=bool(valid), lists=int(str(lists or 1)))
            for table, name, valid, lists in cast("list[list[object]]", indexes or [])
        ),
    )


def require_known(kind: str, precision: str) -> None:
    """Refuse what there is no index of."""
    for value, known, setting in (
        (kind, KINDS, "SCRUBJAY_VECTOR_INDEX"),
        (precision, tuple(PRECISIONS), "SCRUBJAY_VECTOR_PRECISION"),
    ):
        if value not in known:
            raise InvalidInput(
                f"PostgreSQL has no vector index {value!r}",
                hint=f"{setting} is one of {', '.join(known)}",
                setting=setting,
            )
