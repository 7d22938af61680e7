"""Trains the dictionary for the compact bodies of young spaces, on the facts of this project (`training/data`).

`python -m scripts.train_dictionary FILE`. The same facts give the same file. `storage/prose.dict` was made in this way
and stays as it is, since bodies were compressed with it: a better one needs another name and other first bytes.
"""

import argparse
import json
import random
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import zstandard

from scrubjay.model.memory import Json
from scrubjay.model.timestamps import to_iso
from scrubjay.storage.compact import head_bytes, to_compact

SEED = 7
DICTIONARY_BYTES = 65_536
# The best level finds what to keep; bodies are compressed at a lower one.
LEVEL = 19
FACTS = Path(__file__).parent.parent / "training" / "data"
START = datetime(2026, 1, 1, tzinfo=UTC)
KINDS = "note fact preference decision user_profile task person project event learning reference".split()
AGENTS = "claude-code cursor cli chat".split()


def main() -> None:
    """Train the dictionary and write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    target: Path = parser.parse_args().file
    source = random.Random(SEED)
    samples = [sample(fact, source) for fact in dict.fromkeys(facts())]
    trained = zstandard.train_dictionary(DICTIONARY_BYTES, list(samples), level=LEVEL, k=40, d=6)
    target.write_bytes(trained.as_bytes())
    print(f"{target}: {target.stat().st_size} bytes from {len(samples)} bodies")


def facts() -> Iterator[tuple[str, str, str]]:
    """Yield each text with its subject and its project."""
    for name in ("pairs", "questions", "texts"):
        for line in (FACTS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            for fact in (row.get("a"), row.get("b"), *row.get("answers", ()), *row.get("lookalikes", ())):
                if fact:
                    yield fact["text"], fact["subject"], fact["project"]
            for key in ("question", "text"):
                if key in row:
                    yield row[key], "", ""


def sample(fact: tuple[str, str, str], source: random.Random) -> bytes:
    """Return the text of a compact body, with the fields that a memory usually has."""
    text, subject, project = fact
    words = re.findall(r"\w+", (subject or text).lower())
    when = to_iso(START + timedelta(seconds=source.randrange(10**8)))
    body: dict[str, Json] = {"content": text, "name": "-".join(words[:3]), "created_at": when, "updated_at": when}
    if source.random() < 0.7:
        body["tags"] = [*words[1:3]]
    if source.random() < 0.1:
        body |= {"kind": source.choice(KINDS), "project": project, "entity": words[0] if words else ""}
    if source.random() < 0.1:
        session = f"session-{source.randint(1, 99)}"
        body["source"] = {"agent": source.choice(AGENTS), "method": "agent", "session": session, "trust": "user"}
    if source.random() < 0.02:
        body["observations"] = [{"text": text, "recorded_at": when}, {"text": subject, "recorded_at": when}]
    compact = to_compact(body)
    assert compact is not None
    return compact[head_bytes(compact) :]


if __name__ == "__main__":
    main()
