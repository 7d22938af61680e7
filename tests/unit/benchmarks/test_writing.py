"""The counts of the benchmark of the write path, on small files of each kind and on generated pairs."""

import json
from pathlib import Path

from benchmarks.tables import Table
from benchmarks.writing import Merges, Options, measure
from scrubjay.writing.similarity_score import TextSimilarity


def shares(table: Table) -> dict[str, tuple[str, ...]]:
    return {row[0]: row[1:] for row in table.rows}


def test_a_pair_counts_as_merged_unless_a_guard_keeps_it_apart() -> None:
    merges = Merges()
    merges.note("number", TextSimilarity(similarity=0.9, differs=("number: 1 or 2",)), same=0.8)
    merges.note("number", TextSimilarity(similarity=0.9), same=0.8)
    merges.note("number", TextSimilarity(similarity=0.7), same=0.8)
    assert merges.table("swaps").rows == (("number", "3", "1", "33.33%", "66.67%"),)


async def test_files_of_each_kind_are_read_and_measured(tmp_path: Path) -> None:
    sts = tmp_path / "sts.csv"
    line = "main\tvideo\t2012\t{}\t{}\t{}\t{}\n"
    sts.write_text(
        line.format(1, 5.0, "A man is climbing a rope.", "A man climbs a rope.")
        + line.format(2, 1.0, "A man is climbing a rope.", "The lake is frozen.")
        + line.format(3, 3.5, "A man is climbing a rope.", "A man climbs.")
    )
    mrpc = tmp_path / "mrpc.tsv"
    mrpc.write_text("index\tlabel\tsentence1\tsentence2\n0\t1\tA dog runs.\tA dog is running.\n")
    locomo = tmp_path / "locomo.json"
    facts = {"session_1_observation": {"Ann": [["Ann met Boris on Friday with two dogs.", "D1:1"]]}}
    questions = [{"question": "Where does Carla work?"}]
    locomo.write_text(json.dumps([{"observation": facts, "qa": []}, {"observation": {}, "qa": questions}]))
    judged, paraphrased, swapped, related = await measure(Options(pairs=sts, mrpc=mrpc, locomo=locomo))
    assert related.rows[0][0] == "1"
    assert {kind: row[:2] for kind, row in shares(judged).items()} == {"duplicate": ("1", "1"), "distinct": ("1", "0")}
    assert shares(paraphrased)["duplicate"][1] == "1"
    assert {row[1] for row in shares(swapped).values()} == {"0"}
    assert {"number", "date"} <= set(shares(swapped))


async def test_without_files_pairs_are_generated(tmp_path: Path) -> None:
    del tmp_path
    made, swapped = await measure(Options())
    assert int(shares(made)["duplicate"][1]) >= 4
    assert {row[1] for row in shares(swapped).values()} == {"0"}
