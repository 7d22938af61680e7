"""REALTALK: what ten pairs of people wrote to each other over weeks. One file and one collection a pair."""

from pathlib import Path

from benchmarks.recall_data import BadData, Collection, files_of, read_json, tables_of
from benchmarks.recall_locomo import chat

CATEGORIES = {"1": "multi-hop", "2": "temporal", "3": "commonsense"}
EXPECTED = (
    "an object with `session_1`, `session_1_date_time`, … (of turns with `speaker`, `dia_id` and `clean_text`) and "
    "`qa` (`question`, `evidence`, `category`), or a folder of such files"
)


def load_realtalk(path: Path) -> list[Collection]:
    """One chat, or all chats of a folder."""
    results = [
        chat(file.stem, talk, talk.get("qa"), categories=CATEGORIES)
        for file in files_of(path)
        for talk in tables_of(read_json(file))
    ]
    # A folder may hold more than the chats that questions were written for.
    results = [item for item in results if item.questions]
    if not results:
        raise BadData(f"{path} is no REALTALK file: expected {EXPECTED}")
    return results
