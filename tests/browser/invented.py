"""An invented store: what a person's agents might remember."""

from typing import Protocol


class Store(Protocol):
    """Where it is stored."""

    ids: dict[str, str]

    def call(self, path: str, body: object, *, space: str = ..., method: str = ...) -> object:
        """Call REST."""
        ...

    def remember(self, text: str, name: str, *, space: str = ..., **fields: object) -> str:
        """Store a memory."""
        ...


def fill(store: Store) -> None:
    """Fill the default space, and `conflicts` and `inbox` with what waits for a person."""
    people = (
        ("sarah", "Sarah Lindqvist leads the design of the harbour project. She prefers **voice calls** to mail."),
        ("tomas", "Tomas keeps the tide gauges running, and answers within a day."),
        ("mei", "Mei writes the reports of the harbour project, in English and in Mandarin."),
    )
    for name, text in people:
        store.remember(text, name, kind="person", entities=[name.title()], tags=["people"], project="harbour")
    store.remember(
        "## What was decided\n\n- The gauges report every **ten minutes**.\n- Alarms go to the office first.\n\n"
        "| level | who is called |\n|---|---|\n| 2 m | office |\n| 3 m | office and Tomas |\n\nSee [[sarah]].",
        "gauge-decision", title="How the tide gauges report", kind="decision", tags=["gauges", "alarms"],
        project="harbour", observations=["Agreed on the Monday call", "Mei wrote it down"],
    )  # fmt: skip
    store.remember("The backup runs at two at night", "backup", title="Backup", kind="fact", tags=["servers"])
    store.remember("The office closes at six", "office-hours", title="Office hours", kind="fact", tags=["office"])
    for number in range(30):
        text = f"Gauge {number} stands at pier {number % 7} and was checked in week {number}"
        store.remember(text, f"gauge-{number}", kind="gauge", tags=["gauges"], project="harbour")
        target = f"gauge-{number // 3}" if number else "gauge-decision"
        store.call(f"/memories/{store.ids[f'gauge-{number}']}/links", {"target": store.ids[target], "relation": "near"})
    for person in ("sarah", "tomas", "mei"):
        links = f"/memories/{store.ids[person]}/links"
        store.call(links, {"target": store.ids["gauge-decision"], "relation": "decided"})
    source = 'def count_kind(kind: str):\n    """Count the memories of a kind."""\n    return len(search_nodes(kind))\n'
    store.call("/skills", {"name": "count_kind", "source": source, "example": {"kind": "gauge"}})
    store.remember("Ann lives in Berlin near the old harbour.", "ann-berlin", space="conflicts")
    store.remember("Ann lives in Paris near the old harbour.", "ann-paris", space="conflicts")
    store.call("/scan", {"limit": 5}, space="conflicts")
    store.call("/rules", {"review": "all"}, space="inbox", method="PATCH")
    store.remember("The new pier opens in May", "pier", space="inbox")
