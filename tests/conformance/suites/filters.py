"""Memories that differ in every filterable field, and which of them pass each filter."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

from tests.fakes.build import a_memory

from scrubjay.model.memory import Flag, Memory, Source, State, Tier, Trust
from scrubjay.model.query import Filter

SHARED_WORD = "orchid"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A filter, and the labels of the memories that pass it."""

    name: str
    filter: Filter
    passing: frozenset[str]


def population(*, space: str = "default") -> dict[str, Memory]:
    """Return the memories, by label. Each has the shared word in its text."""
    return {
        "plain": a_memory(f"{SHARED_WORD} plain", space=space, created_at=_january(5)),
        "sarah": _sarah(space, State.LIVE),
        "acme": a_memory(
            f"{SHARED_WORD} customer",
            space=space,
            entity="Acme Corp",
            kind="fact",
            category="People/Clients/Large",
            tags=("calls", "crm"),
            project="apollo",
            scope="org",
            tier=Tier.EPISODIC,
            group="g1",
            source=Source(session="s2", agent="codex", trust=Trust.DOCUMENT, at=_january(20)),
            metadata={"priority": 2, "done": False, "ratio": 0.5, "city": "ZÜRICH"},
            # The first of February, in UTC.
            remind_at=datetime(2026, 1, 31, 23, 30, tzinfo=timezone(-timedelta(hours=2))),
        ),
        "odd": a_memory(
            f"{SHARED_WORD} punctuation",
            space=space,
            entity='O\'Brien "the" = boss; --',
            kind="fact",
            tags=("c++", "100%", "été"),
            group="g1",
            source=Source(at=_january(30)),
            metadata={"a=b": "c=d", "null": None, "list": ["x"], "priority": 10},
            flags=(Flag.THIN, Flag.SUSPICIOUS),
        ),
        "trashed": _sarah(space, State.TRASHED),
        "archived": a_memory(f"{SHARED_WORD} archived", space=space, kind="fact", state=State.ARCHIVED),
        "waiting": a_memory(
            f"{SHARED_WORD} waiting", space=space, kind="fact", state=State.WAITING, flags=(Flag.THIN,)
        ),
        "merged": a_memory(f"{SHARED_WORD} merged", space=space, kind="fact", state=State.MERGED),
    }


async def require_exact(passing: Callable[[Filter], Awaitable[Sequence[str]]]) -> None:
    """Require that exactly the memories with its labels pass each filter; report all filters that fail together."""
    results = {case.name: await passing(case.filter) for case in CASES}
    wrong = {
        case.name: f"{sorted(results[case.name])}, not {sorted(case.passing)}"
        for case in CASES
        if sorted(results[case.name]) != sorted(case.passing)
    }
    assert wrong == {}


def _sarah(space: str, state: State) -> Memory:
    return a_memory(
        f"{SHARED_WORD} caller",
        space=space,
        state=state,
        entity="Sarah",
        kind="preference",
        category="people",
        tags=("voice", "calls"),
        project="apollo",
        scope="team",
        tier=Tier.SEMANTIC,
        source=Source(session="s1", agent="claude", trust=Trust.USER, at=_january(10)),
        metadata={"priority": 1, "done": True, "city": "Zürich"},
    )


def _january(day: int) -> datetime:
    return datetime(2026, 1, day, tzinfo=UTC)


_FILTERS: Mapping[str, tuple[Filter, str]] = {
    "nothing": (Filter(), "plain sarah acme odd"),
    "entity": (Filter(entity="Sarah"), "sarah"),
    "entity-any-case": (Filter(entity="ACME CORP"), "acme"),
    "entity-with-quotes": (Filter(entity='O\'Brien "the" = boss; --'), "odd"),
    "entity-prefix": (Filter(entity="Sar"), ""),
    "kind": (Filter(kind="fact"), "acme odd"),
    "kind-default": (Filter(kind="note"), "plain"),
    "category": (Filter(category="people"), "sarah acme"),
    "category-below": (Filter(category="people/clients"), "acme"),
    "category-whole": (Filter(category="People / Clients / Large/"), "acme"),
    "category-part-of-a-name": (Filter(category="people/client"), ""),
    "category-from-the-middle": (Filter(category="clients"), ""),
    "category-further-below": (Filter(category="people/clients/large/old"), ""),
    "tag": (Filter(tags=("calls",)), "sarah acme"),
    "every-tag": (Filter(tags=("calls", "crm")), "acme"),
    "any-tag": (Filter(any_tags=("voice", "crm", "nobody-has-it")), "sarah acme"),
    "tag-and-any-tag": (Filter(tags=("calls",), any_tags=("voice", "c++")), "sarah"),
    "tag-with-signs": (Filter(any_tags=("C++",)), "odd"),
    "tag-with-percent": (Filter(tags=("100%",)), "odd"),
    "tag-percent-is-no-wildcard": (Filter(tags=("%",)), ""),
    "tag-star-is-no-wildcard": (Filter(tags=("c*",)), ""),
    "tag-unicode": (Filter(tags=("ÉTÉ",)), "odd"),
    "project": (Filter(project="apollo"), "sarah acme"),
    "scope": (Filter(scope="team"), "sarah"),
    "tier": (Filter(tier="semantic"), "sarah"),
    "tier-default": (Filter(tier="working"), "plain odd"),
    "session": (Filter(session="s2"), "acme"),
    "agent": (Filter(agent="claude"), "sarah"),
    "trust": (Filter(trust="document"), "acme"),
    "trust-default": (Filter(trust="unknown"), "plain odd"),
    "group": (Filter(group="g1"), "acme odd"),
    "remind": (Filter(remind="2026-02"), "acme"),
    "remind-another-month": (Filter(remind="2026-01"), ""),
    "flag": (Filter(flag="suspicious"), "odd"),
    "flag-any-case": (Filter.of(flag="THIN"), "odd"),
    "flag-and-kind": (Filter(flag="thin", kind="note"), ""),
    "metadata-number": (Filter(metadata={"priority": 1}), "sarah"),
    "metadata-float-of-a-number": (Filter(metadata={"priority": 2.0}), "acme"),
    "metadata-fraction": (Filter(metadata={"ratio": 0.5}), "acme"),
    "metadata-true": (Filter(metadata={"done": True}), "sarah"),
    "metadata-false": (Filter(metadata={"done": False}), "acme"),
    "metadata-text": (Filter(metadata={"city": "zürich"}), "sarah acme"),
    "metadata-with-equals-signs": (Filter(metadata={"a=b": "c=d"}), "odd"),
    "metadata-two-keys": (Filter(metadata={"city": "Zürich", "priority": 2}), "acme"),
    "metadata-unknown-key": (Filter(metadata={"nobody": "x"}), ""),
    "since": (Filter(since=_january(20)), "acme odd"),
    "until": (Filter(until=_january(20)), "plain sarah"),
    "since-and-until": (Filter(since=_january(10), until=_january(30)), "sarah acme"),
    "an-empty-span": (Filter(since=_january(20), until=_january(20)), ""),
    "project-and-kind": (Filter(project="apollo", kind="fact"), "acme"),
    "three-and-a-date": (Filter(project="apollo", tags=("calls",), trust="user", since=_january(1)), "sarah"),
    "everything": (
        Filter(
            entity="sarah",
            kind="preference",
            category="people",
            tags=("voice", "calls"),
            any_tags=("voice", "x"),
            project="apollo",
            scope="team",
            tier="semantic",
            session="s1",
            agent="claude",
            trust="user",
            metadata={"done": True},
            since=_january(10),
            until=_january(11),
        ),
        "sarah",
    ),
    "a-contradiction": (Filter(entity="sarah", kind="fact"), ""),
    "trashed": (Filter(state=State.TRASHED), "trashed"),
    "trashed-by-entity": (Filter(state=State.TRASHED, entity="Sarah"), "trashed"),
    "archived": (Filter(state=State.ARCHIVED), "archived"),
    "waiting": (Filter(state=State.WAITING), "waiting"),
    "waiting-by-flag": (Filter(state=State.WAITING, flag="thin"), "waiting"),
    "merged-by-kind": (Filter(state=State.MERGED, kind="fact"), "merged"),
}

CASES = tuple(
    Case(name=name, filter=criteria, passing=frozenset(labels.split())) for name, (criteria, labels) in _FILTERS.items()
)
