"""What memories weigh is what the database says, and what they need grows with them."""

from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from tests.postgres import a_database, shared_server

from benchmarks.capacity import BEGIN, END, between_marks
from benchmarks.capacity_report import page
from benchmarks.capacity_samples import Sample, keep, kept, measured_of
from benchmarks.effort import Effort
from benchmarks.projection import Assumed, Prices, plan
from benchmarks.weights import Relation, Weights, weigh_database, weigh_folder
from scrubjay.app import open_engine
from scrubjay.model.draft import Caller, Draft
from scrubjay.settings import Settings

SAMPLE = Sample(
    weights=Weights(
        memories=1_000, versions=1_100, passages=1_200, vectors=1_200, changes=1_100, dimension=384,
        relations=(
            Relation(table="memories", index="", kind="", size=500_000),
            Relation(table="memories", index="memories_id", kind="btree", size=60_000),
            Relation(table="vectors", index="", kind="", size=1_500_000),
            Relation(table="vectors", index="near", kind="hnsw", size=1_000_000),
            Relation(table="meta", index="", kind="", size=8_000),
        ),
    ),
    recall=Effort(wall=10.0, server=4.0, database=3.0),
    remember=Effort(wall=12.0, server=5.0, database=4.0),
    embedding=6.5, embedded_per_second=236.0, remembered_per_second=300.0, indexed_per_second=3_000.0,
    notes=("made up",),
)  # fmt: skip


@pytest.mark.parametrize("partitions", [0, 3])
async def test_a_database_weighs_what_it_says_itself(tmp_path: Path, partitions: int) -> None:
    async with a_database(partitions=partitions) as name:
        url = shared_server().url(name)
        chosen = Settings.load(environment={}, home=str(tmp_path), database_url=url, embedder="none")
        async with open_engine(chosen) as engine:
            for number in range(3):
                await engine.remember(Draft(text=f"Acorn {number} is under the oak"), who=Caller(space="a", agent="b"))
        weights = weigh_database(url)
        with psycopg.connect(url) as connection:
            told = connection.execute(
                "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' "
                "AND relnamespace = 'scrubjay'::regnamespace"
            ).fetchall()
    assert weights.size == int(told[0][0])
    assert (weights.memories, weights.versions, weights.passages, weights.vectors) == (3, 3, 3, 0)
    assert {"memories", "passages", "vectors"} <= set(weights.by_table())
    assert all("_0" not in table for table in weights.by_table())


def test_a_folder_weighs_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "index").mkdir()
    (tmp_path / "index" / "part").write_bytes(b"x" * 100_000)
    (tmp_path / "memory.db").write_bytes(b"x" * 5_000)
    found = weigh_folder(tmp_path)
    assert 100_000 <= found["index"] <= 110_000
    assert 5_000 <= found["memory.db"] <= 10_000


def test_what_was_measured_is_kept_by_size(tmp_path: Path) -> None:
    file = tmp_path / "capacity.json"
    larger = replace(SAMPLE, weights=replace(SAMPLE.weights, memories=10_320), recall=None, remember=None)
    assert kept(file) == ()
    for one in (larger, SAMPLE, replace(larger, embedding=7.0)):
        keep(one, file)
    assert kept(file) == (SAMPLE, replace(larger, embedding=7.0))


def test_weights_are_told_by_table() -> None:
    assert SAMPLE.weights.by_table() == {
        "vectors": (1_500_000, 1_000_000), "memories": (500_000, 60_000), "meta": (8_000, 0),
    }  # fmt: skip
    assert SAMPLE.weights.per_memory == pytest.approx(3_068)
    assert SAMPLE.weights.of_vector_index() == 1_000_000


def test_more_memories_need_more_and_cost_less_each() -> None:
    small, large = (
        plan(measured_of(SAMPLE), Assumed(simulated=15_000), memories=size) for size in (10_000_000, 1_000_000_000)
    )
    assert small.servers >= 2
    assert large.servers > small.servers
    assert large.shards > small.shards
    assert large.cost_per_million < small.cost_per_million
    assert large.store_gb == pytest.approx(2_068)
    assert large.vector_index_gb == pytest.approx(1_000)
    for one in (small, large):
        assert one.outcome.recall_p99 <= Assumed().slowest
        assert one.outcome.hottest_shard_busy <= Assumed().busiest


def test_prices_are_what_somebody_says() -> None:
    free = Assumed(prices=Prices(core=0, memory_gb=0, disk_gb=1, archive_gb=0))
    found = plan(measured_of(SAMPLE), free, memories=1_000_000)
    assert found.cost == pytest.approx((found.store_gb + found.vector_index_gb) * free.slack)


def test_the_page_has_every_table() -> None:
    text = page([SAMPLE], Assumed(simulated=4_000))
    for title in ("Bytes", "Indexes", "Work", "Needed", "The busiest hour, simulated", "Assumed"):
        assert f"### {title}\n" in text
    assert "| `vectors` | 1,500 + 1,000 |" in text
    assert "| **all** | **3,068** |" in text


def test_tables_are_written_between_the_marks_of_a_page() -> None:
    text = f"Before\n{BEGIN}\nold\n{END}\nAfter\n"
    once = between_marks(text, "new\n")
    assert once == f"Before\n{BEGIN}\n\nnew\n\n{END}\nAfter\n"
    assert between_marks(once, "new\n") == once
    with pytest.raises(ValueError, match="has no"):
        between_marks("nothing", "new\n")
