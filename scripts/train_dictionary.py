"""Trains the dictionary that ships with Scrubjay, from generated sentences.

Run it after the shape of bodies has changed: `python scripts/train_dictionary.py`. The same seed gives the same file.
"""

import json
import random
from pathlib import Path

import zstandard

SEED = 7
SAMPLES = 6000
DICTIONARY_BYTES = 32_768
TARGET = Path(__file__).parent.parent / "src" / "scrubjay" / "storage" / "generic.dict"

PEOPLE = "Sarah John Maria Chen Amir Olga Priya Tom Lena Diego Yuki Fatima Ben Nora Ivan Grace".split()
THINGS = (
    "the login page|the billing service|the test suite|the search index|the deployment script|the mobile app|"
    "the database migration|the API gateway|the release notes|the onboarding guide|the budget|the quarterly report|"
    "the garden|the kitchen|the car|the apartment|the camping trip|the wedding|the marathon|the piano lessons"
).split("|")
PLACES = "Berlin|London|New York|the office|the library|the park|the hospital|the mountains|the beach|home".split("|")
TIMES = (
    "on Monday|on Tuesday|last week|next month|yesterday|this morning|two years ago|in January|in March|in June|"
    "in September|last summer|before the meeting|after the release|every weekend|at the end of the year"
).split("|")
SENTENCES = (
    "{p} prefers to be called by phone rather than by email.",
    "{p} said that {t} has to be finished {w}.",
    "The user decided to use PostgreSQL for {t} because it is already in production.",
    "We should not change {t} without asking {p} first.",
    "I went to {l} with {p} {w} and we had a really great time.",
    "{p} is working on {t} and would like to show it to the team {w}.",
    "The problem with {t} was a missing configuration file; it was fixed {w}.",
    "{p} and {q} met at {l} {w} to talk about {t}.",
    "Remember that {p} does not eat meat and is allergic to nuts.",
    "Always run the tests before you commit a change to {t}.",
    "That sounds wonderful! How long have you been thinking about {t}?",
    "Thanks, {p}! I have been learning a lot about {t} since {w}.",
    "The deadline for {t} was moved to Friday, and {p} is responsible for it.",
    "Here are some suggestions for {t}: start small, write down what you want, and ask {p} for help.",
    "My favorite thing about {l} is that you can see {t} from there.",
    "{p} moved to {l} {w} and started a new job as an engineer.",
    "If the server returns an error, check the log file and restart {t}.",
    "The user's name is {p}; they live near {l} and like hiking, cooking and reading.",
)
KINDS = "note fact preference decision user_profile task person project event learning reference".split()
TAGS = "auth cli database testing deployment search family health travel work music food".split()


def main() -> None:
    """Train and write the dictionary."""
    source = random.Random(SEED)
    samples = [body(source).encode() for _ in range(SAMPLES)]
    trained = zstandard.train_dictionary(DICTIONARY_BYTES, list(samples), level=12)
    TARGET.write_bytes(trained.as_bytes())
    print(f"{TARGET.name}: {TARGET.stat().st_size} bytes from {SAMPLES} bodies")


def body(source: random.Random) -> str:
    """One body, with the fields that a memory usually has."""
    text = " ".join(sentence(source) for _ in range(source.choice((1, 1, 1, 2, 3))))
    when = f"202{source.randint(4, 9)}-{source.randint(1, 12):02}-{source.randint(1, 28):02}T{source.randint(0, 23):02}"
    when += f":{source.randint(0, 59):02}:{source.randint(0, 59):02}.{source.randint(0, 999_999):06}Z"
    fields: dict[str, object] = {"created_at": when, "updated_at": when, "content": text}
    fields["name"] = "-".join(word.strip(".,!?;:'").lower() for word in text.split()[:8])
    if source.random() < 0.5:
        fields["kind"] = source.choice(KINDS)
    if source.random() < 0.4:
        fields["tags"] = source.sample(TAGS, 3)
    if source.random() < 0.3:
        fields["title"] = sentence(source)[:40]
    if source.random() < 0.3:
        fields["entity"] = source.choice(PEOPLE)
    if source.random() < 0.5:
        fields["source"] = {
            "agent": "cli",
            "method": "agent",
            "session": f"session-{source.randint(1, 99)}",
            "trust": "user",
        }
    if source.random() < 0.2:
        fields["observations"] = [{"recorded_at": when, "text": sentence(source)} for _ in range(3)]
    if source.random() < 0.1:
        fields["state"] = "trashed"
    if source.random() < 0.2:
        fields["project"] = source.choice(TAGS)
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def sentence(source: random.Random) -> str:
    """Return a random sentence about people and things."""
    person, other = source.sample(PEOPLE, 2)
    return source.choice(SENTENCES).format(
        p=person, q=other, t=source.choice(THINGS), l=source.choice(PLACES), w=source.choice(TIMES)
    )


if __name__ == "__main__":
    main()
