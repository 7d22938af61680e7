"""The measured sizes match the database, and the projection grows with the number of memories."""

from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from tests.postgres import a_database, shared_server

from benchmarks.capacity import BEGIN, END, between_marks
from benchmarks.capacity_report import page
from benchmarks.capacity_samples import Sample, load_samples, measured_from, save_sample
from benchmarks.effort import Effort
from benchmarks.projection import Assumed, Prices, plan
from benchmarks.weights import Relation, Weights, weigh_database, weigh_folder
from scrubjay.app import open_engine
from scrubjay.model.caller import Caller
from scrubjay.model.draft import Draft
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
async def test_sizes_match_those_of_the_database(tmp_path: Path, partitions: int) -> None:
    async with a_database(partitions=partitions) as name:
        url = shared_server().url(name)
        chosen = Settings.load(environment={}, home=str(tmp_path), database_url=url, embedder="none")
        async with open_engine(chosen) as engine:
            for number in range(3):
                await engine.remember(Draft(text=f"Acorn {number} is under the oak"), who=Caller(space="a", agent="b"))
        weights = weigh_database(url)
        with psycopg.connect(url) as connection:
            rows = connection.execute(
                "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' "
                "AND relnamespace = 'scrubjay'::regnamespace"
            ).fetchall()
    assert weights.size == int(rows[0][0])
    assert (weights.memories, weights.versions, weights.passages, weights.vectors) == (3, 3, 3, 0)
    assert {"memories", "passages", "vectors"} <= set(weights.by_table())
    assert all("_0" not in table for table in weights.by_table())


def test_the_size_of_a_folder_is_that_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "index").mkdir()
    (tmp_path / "index" / "part").write_bytes(b"x" * 100_000)
    (tmp_path / "memory.db").write_bytes(b"x" * 5_000)
    sizes = weigh_folder(tmp_path)
    assert 100_000 <= sizes["index"] <= 110_000
    assert 5_000 <= sizes["memory.db"] <= 10_000


def test_samples_are_stored_by_size(tmp_path: Path) -> None:
    file = tmp_path / "capacity.json"
    larger = replace(SAMPLE, weights=replace(SAMPLE.weights, memories=10_320), recall=None, remember=None)
    assert load_samples(file) == ()
    for sample in (larger, SAMPLE, replace(larger, embedding=7.0)):
        save_sample(sample, file)
    assert load_samples(file) == (SAMPLE, replace(larger, embedding=7.0))


def test_weights_are_summed_by_table() -> None:
    assert SAMPLE.weights.by_table() == {
        "vectors": (1_500_000, 1_000_000), "memories": (500_000, 60_000), "meta": (8_000, 0),
    }  # fmt: skip
    assert SAMPLE.weights.per_memory == pytest.approx(3_068)
    assert SAMPLE.weights.of_vector_index() == 1_000_000


def test_more_memories_need_more_and_cost_less_each() -> None:
    small, large = (
        plan(measured_from(SAMPLE), Assumed(simulated=15_000), memories=size) for size in (10_000_000, 1_000_000_000)
    )
    assert small.servers >= 2
    assert large.servers > small.servers
    assert large.shards > small.shards
    assert large.cost_per_million < small.cost_per_million
    assert large.store_gb == pytest.approx(2_068)
    assert large.vector_index_gb == pytest.approx(1_000)
    for projected in (small, large):
        assert projected.outcome.recall_p99 <= Assumed().slowest
        assert projected.outcome.hottest_shard_busy <= Assumed().busiest


def test_prices_can_be_set() -> None:
    free = Assumed(prices=Prices(core=0, memory_gb=0, disk_gb=1, archive_gb=0))
    projected = plan(measured_from(SAMPLE), free, memories=1_000_000)
    assert projected.cost == pytest.approx((projected.store_gb + projected.vector_index_gb) * free.slack)


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
