"""Calls of the `kg` tools: edge cases by hand, and random ones for the cases that people overlook."""

from collections.abc import Iterator, Sequence
from random import Random

from scrubjay.model.memory import Json

Arguments = dict[str, Json]
Call = tuple[str, Arguments]

NAMES = (
    "Ada", "ada", " Ada", "Ada ", "Ada  Lovelace", "Ada Lovelace", "ada-lovelace", "", " ", "\n", "\t", "a\nb", "Zoë",
    "Zoe\u0308", "日本", "👩‍🚀", "🏳️‍🌈", "İstanbul", "ΣΊΣΥΦΟΣ", "straße", "STRASSE", "ﬁ",
    "x" * 250, "x" * 251, "y" * 1_000, "0190a6c8-0000-7000-8000-000000000000", "Ada~0123456789abcdef",
    "unnamed~e3b0c44298fc1c14", "constructor", "__proto__", "null", '"quoted"', "back\\slash", "a/b", "../..",
    "\u2028", "\ufeffBOM", "\u200b", "a\u00a0b", "\x07bell", "\x7f", "%s", "{}",
)  # fmt: skip
TYPES = ("person", "Person", "", "  ", "note", "mention", "two\nlines", "T" * 300, "Typ für Ä", "🦜")
TEXTS = (
    "likes tea", "Likes Tea", "likes tea ", "", " ", "\n\n", "several\nlines\n", "日本語のテキスト", "👍🏽",
    "ÄÖÜ ß", "ΟΔΟΣ", 'has "quotes" and \\', "tab\there", "\u2028", "a" * 2_000, "null", "0", "x",
    "likes  tea", "\x1b[31mred",
)  # fmt: skip
RELATIONS = ("knows", "KNOWS", "related_to", "", "  ", "r" * 300, "mag\nnicht", "❤️")
QUERIES = (
    "", " ", "a", "ADA", "tea", "TEA ", "ß", "ä", "ö", "i", "i\u0307", "\u03c3", "\u03c2", "日", "👩", "\n", "\\",
    '"', "x" * 250, "person", "~", "e3b0", "nobody has this", "\u200b", "fi", "ss", "0190A6C8", "several\nlines",
)  # fmt: skip

ADA: Json = {"name": "Ada", "entityType": "person", "observations": ["likes tea", "likes tea", ""]}
BOB: Json = {"name": "Bob", "entityType": "", "observations": []}


def link(source: str, target: str, kind: str = "knows") -> Json:
    return {"from": source, "to": target, "relationType": kind}


# One long story: later calls rely on earlier ones, on both servers.
STORY: tuple[Call, ...] = (
    ("read_graph", {}),
    ("search_nodes", {"query": ""}),
    ("open_nodes", {"names": []}),
    ("open_nodes", {"names": ["Nobody"]}),
    ("create_entities", {"entities": []}),
    ("create_relations", {"relations": []}),
    ("add_observations", {"observations": []}),
    ("delete_entities", {"entityNames": []}),
    ("delete_observations", {"deletions": []}),
    ("delete_relations", {"relations": []}),
    ("create_entities", {"entities": [ADA, BOB]}),
    ("create_entities", {"entities": [{"name": "Ada", "entityType": "other", "observations": ["ignored"]}]}),
    ("create_entities", {"entities": [BOB, {"name": "Cy", "entityType": "cat", "observations": ["purrs"]}]}),
    ("add_observations", {"observations": [{"entityName": "Ada", "contents": ["likes tea", "new", "new", " "]}]}),
    ("add_observations", {"observations": [
        {"entityName": "Bob", "contents": ["one"]}, {"entityName": "Bob", "contents": ["one", "two"]},
    ]}),
    ("add_observations", {"observations": [{"entityName": "Bob", "contents": []}]}),
    ("add_observations", {"observations": [
        {"entityName": "Bob", "contents": ["never stored"]}, {"entityName": "Nobody", "contents": ["x"]},
    ]}),
    ("add_observations", {"observations": [{"entityName": "bob", "contents": ["x"]}]}),
    ("add_observations", {"observations": [{"entityName": "", "contents": ["x"]}]}),
    ("create_relations", {"relations": [link("Ada", "Bob"), link("Bob", "Ada"), link("Ada", "Ada")]}),
    ("create_relations", {"relations": [link("Ada", "Bob"), link("Ada", "Bob", "likes")]}),
    ("create_relations", {"relations": [link("Ada", "Bob", "related_to"), link("Bob", "Ada", "related_to")]}),
    ("create_relations", {"relations": [link("Zed", "Ada"), link("Zed", "Yan"), link("Ada", "zed"), link("", " ")]}),
    ("create_relations", {"relations": [link("Zed", "Ada"), link("Zed", "Zed")]}),
    ("open_nodes", {"names": ["Zed", "Ada", "Ada"]}),
    ("open_nodes", {"names": ["Bob", "Ada"]}),
    ("search_nodes", {"query": "zed"}),
    ("create_entities", {"entities": [{"name": "New", "entityType": "t", "observations": []}]}),
    ("create_entities", {"entities": [{"name": "Zed", "entityType": "late", "observations": ["came later"]}]}),
    ("open_nodes", {"names": ["Zed"]}),
    ("search_nodes", {"query": "LATE"}),
    ("delete_entities", {"entityNames": ["Yan"]}),
    ("create_relations", {"relations": [link("Zed", "Yan", "again")]}),
    ("delete_observations", {"deletions": [
        {"entityName": "Ada", "observations": ["likes tea", ""]}, {"entityName": "Nobody", "observations": ["x"]},
        {"entityName": "Bob", "observations": ["one", "two", "three"]}, {"entityName": "Ada", "observations": []},
    ]}),
    ("search_nodes", {"query": "tea"}),
    ("delete_relations", {"relations": [link("Ada", "Bob"), link("Ada", "Nobody"), link("Ada", "Bob", "LIKES")]}),
    ("delete_relations", {"relations": [link("Bob", "Ada", "related_to")]}),
    ("delete_entities", {"entityNames": ["Ada", "Nobody", "Ada"]}),
    ("delete_entities", {"entityNames": ["Ada"]}),
    ("create_entities", {"entities": [ADA]}),
    ("open_nodes", {"names": ["Ada"]}),
    ("delete_entities", {"entityNames": ["zed"]}),
    ("delete_entities", {"entityNames": [""]}),
    ("create_entities", {"entities": [{"name": "  odd  ", "entityType": " odd ", "observations": [" ", "a", "\n"]}]}),
    ("add_observations", {"observations": [{"entityName": "  odd  ", "contents": ["", " ", "b"]}]}),
    ("delete_observations", {"deletions": [{"entityName": "  odd  ", "observations": [" ", "a"]}]}),
    ("open_nodes", {"names": ["odd", "  odd  "]}),
    ("create_entities", {"entities": [
        {"name": "odd", "entityType": "odd", "observations": []},
        {"name": " odd", "entityType": "odd", "observations": []},
    ]}),
    ("delete_entities", {"entityNames": ["  odd  "]}),
)  # fmt: skip

# Both servers refuse these, each with its own message; nothing changes.
WRONG: tuple[Call, ...] = (
    ("create_entities", {}),
    ("create_entities", {"entities": "Ada"}),
    ("create_entities", {"entities": None}),
    ("create_entities", {"entities": {"name": "Ada"}}),
    ("create_entities", {"entities": ["Ada"]}),
    ("create_entities", {"entities": [None]}),
    ("create_entities", {"entities": [{"name": "W", "entityType": "t"}]}),
    ("create_entities", {"entities": [{"name": "W", "entityType": "t", "observations": "one"}]}),
    ("create_entities", {"entities": [{"name": "W", "entityType": "t", "observations": [1]}]}),
    ("create_entities", {"entities": [{"name": "W", "entityType": "t", "observations": [None]}]}),
    ("create_entities", {"entities": [{"name": 5, "entityType": "t", "observations": []}]}),
    ("create_entities", {"entities": [{"name": "W", "entityType": None, "observations": []}]}),
    ("create_entities", {"entities": [ADA, {"name": "W", "entityType": True, "observations": []}]}),
    ("create_relations", {"relations": [{"from": "Ada", "to": "Bob"}]}),
    ("create_relations", {"relations": [{"from": "Ada", "to": ["Bob"], "relationType": "knows"}]}),
    ("create_relations", {"relations": 3}),
    ("add_observations", {"observations": [{"entityName": "Ada", "contents": "one"}]}),
    ("add_observations", {"observations": [{"entityName": "Ada"}]}),
    ("add_observations", {"entityName": "Ada"}),
    ("delete_entities", {"entityNames": "Ada"}),
    ("delete_entities", {"entityNames": [["Ada"]]}),
    ("delete_observations", {"deletions": [{"entityName": "Ada", "observations": {"0": "x"}}]}),
    ("delete_relations", {"relations": [{"from": 1, "to": 2, "relationType": 3}]}),
    ("search_nodes", {}),
    ("search_nodes", {"query": 7}),
    ("search_nodes", {"query": ["tea"]}),
    ("open_nodes", {"names": "Ada"}),
    ("open_nodes", {"names": [0]}),
    ("open_nodes", {}),
)


def drawn(seed: int, *, calls: int) -> Iterator[Call]:
    """Return random calls about few names, so that they affect each other."""
    random = Random(seed)
    names = random.sample(NAMES, 12)
    for _ in range(calls):
        tool = random.choices(list(_MAKERS), weights=[weight for weight, _ in _MAKERS.values()])[0]
        yield tool, _MAKERS[tool][1](random, names)


def _some(random: Random, values: Sequence[str], *, most: int) -> list[Json]:
    return [*random.choices(values, k=random.randint(0, most))]


def _create_entities(random: Random, names: Sequence[str]) -> Arguments:
    # Each name once: a name that appears twice in a call is one of the known differences.
    chosen = random.sample(list(names), random.randint(0, 3))
    return {
        "entities": [
            {"name": name, "entityType": random.choice(TYPES), "observations": _some(random, TEXTS, most=3)}
            for name in chosen
        ]
    }


def _create_relations(random: Random, names: Sequence[str]) -> Arguments:
    relations = {
        (random.choice(names), random.choice(names), random.choice(RELATIONS)) for _ in range(random.randint(0, 3))
    }
    return {"relations": [link(*relation) for relation in sorted(relations)]}


def _add_observations(random: Random, names: Sequence[str]) -> Arguments:
    chosen = [random.choice(names) for _ in range(random.randint(0, 2))]
    return {"observations": [{"entityName": name, "contents": _some(random, TEXTS, most=3)} for name in chosen]}


def _delete_observations(random: Random, names: Sequence[str]) -> Arguments:
    chosen = [random.choice(names) for _ in range(random.randint(0, 3))]
    return {"deletions": [{"entityName": name, "observations": _some(random, TEXTS, most=6)} for name in chosen]}


def _delete_entities(random: Random, names: Sequence[str]) -> Arguments:
    return {"entityNames": _some(random, names, most=2)}


def _open_nodes(random: Random, names: Sequence[str]) -> Arguments:
    return {"names": _some(random, names, most=4)}


def _search_nodes(random: Random, names: Sequence[str]) -> Arguments:
    if random.random() < 0.5:
        return {"query": random.choice(QUERIES)}
    text = random.choice((*names, *TEXTS, *TYPES))
    start = random.randint(0, len(text))
    piece = text[start : start + random.randint(0, 8)]
    return {"query": random.choice((piece, piece.upper(), piece.lower()))}


def _read_graph(_: Random, __: Sequence[str]) -> Arguments:
    return {}


_MAKERS = {
    "create_entities": (6, _create_entities),
    "create_relations": (6, _create_relations),
    "add_observations": (3, _add_observations),
    "delete_observations": (3, _delete_observations),
    "delete_relations": (3, _create_relations),
    "delete_entities": (3, _delete_entities),
    "search_nodes": (5, _search_nodes),
    "open_nodes": (4, _open_nodes),
    "read_graph": (1, _read_graph),
}
