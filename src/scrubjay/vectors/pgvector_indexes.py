"""Vector indexes of a PostgreSQL database: the desired ones, the existing ones, and the statements between."""

import math
from collections.abc import Mapping, Sequence
from typing import cast

from scrubjay.errors import InvalidInput
from scrubjay.lazy import dataclass

KINDS = ("hnsw", "ivfflat")
# The indexed type of each precision, and the most dimensions that the extension accepts of it.
PRECISIONS: Mapping[str, tuple[str, int]] = {"half": ("halfvec", 4_000), "full": ("vector", 2_000)}
# The first version with iterative scans, without which a filtered index scan returns too few rows.
_OLDEST_EXTENSION = (0, 8)
_MEGABYTE = 1 << 20
_MAX_MEMORY = 1024
# The bytes of a vector in the graph besides its components.
_LINKS = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class PgvectorTuning:
    """Measured with 384 dimensions. Costs are in microseconds, and only compared with each other."""

    # Fewer points than this have no index: it would slow every write down by more than it speeds up a search.
    index_from: int = 5_000
    # The cost of a vector in a scan of the whole space, in a scan of a filter, and of a step in an index scan.
    scan_cost: float = 0.8
    filtered_cost: float = 5.0
    step_cost: float = 10.0
    # The least number of vectors that an index scan reads, for a recall of .99.
    min_visited: int = 200
    graph_links: int = 16
    graph_construction: int = 64
    # Points in a list, and probes of a search as a multiple of the square root of the number of lists.
    list_size: int = 250
    probe_factor: float = 3.0
    # The index is rebuilt when its lists have grown to so many times their size.
    max_growth: int = 4
    # Vectors to index at once in the background, and before a first index is built.
    index_at_once: int = 50
    index_before_build: int = 5_000
    # How long to wait for more of them, in seconds.
    index_after: float = 0.5
    # How often to read the state of the database, in seconds.
    refresh_after: float = 15.0
    attempts: int = 3
    # How long a caller waits for a rebuild, in seconds; the rebuild continues after that.
    rebuild_wait: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingIndex:
    """An existing index."""

    table: str
    name: str
    valid: bool
    lists: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PgvectorState:
    """The state of the database. `points` is an estimate over all spaces and partitions."""

    version: str
    schema: str
    model_no: int | None
    dimension: int
    points: int
    tables: tuple[str, ...]
    indexes: tuple[ExistingIndex, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PgvectorLayout:
    """The index of one model, in every partition of the vectors."""

    kind: str
    precision: str
    state: PgvectorState
    tuning: PgvectorTuning

    @property
    def type(self) -> str:
        """The type that a stored vector is cast to."""
        return f"{self.state.schema}.{PRECISIONS[self.precision][0]}({self.state.dimension})"

    @property
    def lists(self) -> int:
        """The number of lists of a table."""
        return max(1, min(32_768, round(self.points / self.tuning.list_size)))

    @property
    def points(self) -> int:
        """The estimated number of points of a table."""
        return self.state.points // max(1, len(self.state.tables))

    @property
    def problem(self) -> str:
        """Why no index is possible; empty when one is."""
        current, (name, limit) = self.state, PRECISIONS[self.precision]
        if tuple(int(part) for part in current.version.split(".")[:2]) < _OLDEST_EXTENSION:
            return f"pgvector {current.version} cannot filter by an index: ALTER EXTENSION vector UPDATE (0.8 or newer)"
        if current.dimension > limit:
            better = ": set SCRUBJAY_VECTOR_PRECISION to half" if current.dimension <= PRECISIONS["half"][1] else ""
            return f"an index of {name} takes {limit} dimensions, the model has {current.dimension}{better}"
        return ""

    @property
    def is_complete(self) -> bool:
        """Whether every table has its index."""
        indexed = {index.table for index in self.state.indexes if index.valid and index.name == self.name(index.table)}
        return self.state.model_no is not None and indexed == set(self.state.tables)

    @property
    def is_outgrown(self) -> bool:
        """Whether the lists have become so long that the index should be rebuilt."""
        own = [index for index in self.state.indexes if index.name == self.name(index.table)]
        return self.kind == "ivfflat" and any(self.lists >= self.tuning.max_growth * index.lists for index in own)

    def name(self, table: str) -> str:
        """Return the name of the index of a table."""
        return f"{table}_{self.kind}_{self.precision}_{self.state.model_no}"

    def search_plan(self) -> dict[str, str | int | float]:
        """Return the search plan for `nearest_passages`."""
        tuning = self.tuning
        plan: dict[str, str | int | float] = {
            "scan_cost": tuning.scan_cost, "filtered_cost": tuning.filtered_cost, "step_cost": tuning.step_cost,
            "min_visited": tuning.min_visited, "points": self.points,
        }  # fmt: skip
        if self.is_complete and not self.problem:
            lists = max((index.lists for index in self.state.indexes), default=1)
            plan |= {
                "type": self.type, "schema": self.state.schema, "lists": max(1, lists),
                "probes": min(lists, max(4, math.ceil(math.sqrt(lists) * tuning.probe_factor))),
            }  # fmt: skip
        return plan

    # ---- statements ----

    def create_statement(self, table: str) -> str:
        """Return the statement that creates the index of a table while others use it."""
        current, operators = self.state, f"{PRECISIONS[self.precision][0]}_cosine_ops"
        options = f"lists = {self.lists}"
        if self.kind == "hnsw":
            options = f"m = {self.tuning.graph_links}, ef_construction = {self.tuning.graph_construction}"
        return (
            f"CREATE INDEX CONCURRENTLY {self.name(table)} ON scrubjay.{table} USING {self.kind} "
            f"((vector::{self.type}) {current.schema}.{operators}) WITH ({options}) "
            f"WHERE model_no = {current.model_no} AND indexed"
        )

    def rebuild_statements(self, table: str) -> list[str]:
        """Return the statements that rebuild the index of a table while others use it."""
        name = f"scrubjay.{self.name(table)}"
        lists = [f"ALTER INDEX {name} SET (lists = {self.lists})"] if self.kind == "ivfflat" else []
        return [*lists, f"REINDEX INDEX CONCURRENTLY {name}"]

    def drop_statements(self, *, others: bool) -> list[str]:
        """Return the statements that drop invalid indexes and, with `others`, the model's indexes of other kinds."""
        own = {self.name(table) for table in self.state.tables}
        return [
            f"DROP INDEX CONCURRENTLY IF EXISTS scrubjay.{index.name}"
            for index in self.state.indexes
            if not index.valid or (others and index.name not in own and index.name.endswith(f"_{self.state.model_no}"))
        ]

    def memory_statement(self) -> str:
        """Return the statement that sets the memory to build in: a graph that does not fit takes many times longer."""
        needed = self.points * (4 * self.state.dimension + _LINKS) // _MEGABYTE
        return f"SET maintenance_work_mem = '{max(64, min(_MAX_MEMORY, needed))}MB'"


STATE_QUERY = "SELECT * FROM scrubjay.vector_index_state(%s)"


def state_of(row: Sequence[object], *, model: str, dimension: int) -> PgvectorState:
    """Return the state from its row; raises InvalidInput when the stored vectors have another dimension."""
    version, schema, number, stored, points, tables, indexes = row
    if stored is not None and stored != dimension:
        raise InvalidInput(
            f"model {model!r} has {stored} dimensions in this store, the embedder gives {dimension}",
            hint="Name the changed model differently in SCRUBJAY_EMBEDDING_MODEL",
            model=model,
        )
    return PgvectorState(
        version=str(version),
        schema=str(schema),
        model_no=cast("int | None", number),
        dimension=dimension,
        points=cast("int", points),
        tables=tuple(cast("list[str]", tables)),
        indexes=tuple(
            ExistingIndex(table=str(table), name=str(name), valid=bool(valid), lists=int(str(lists or 1)))
            for table, name, valid, lists in cast("list[list[object]]", indexes or [])
        ),
    )


def require_known(kind: str, precision: str) -> None:
    """Raise InvalidInput for an unknown kind or precision."""
    for value, choices, setting in (
        (kind, KINDS, "SCRUBJAY_VECTOR_INDEX"),
        (precision, tuple(PRECISIONS), "SCRUBJAY_VECTOR_PRECISION"),
    ):
        if value not in choices:
            raise InvalidInput(
                f"PostgreSQL has no vector index {value!r}",
                hint=f"{setting} must be one of {', '.join(choices)}",
                setting=setting,
            )
