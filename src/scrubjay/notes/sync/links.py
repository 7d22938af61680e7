"""Links and relations: what a file links becomes related, and what is related is linked, also when either moves."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from scrubjay.errors import InvalidInput, NotFound
from scrubjay.lookup.references import SoundReader
from scrubjay.model.draft import Caller, Edit
from scrubjay.model.identity import is_id
from scrubjay.model.memory import Memory, State
from scrubjay.model.relation import LINK, Relation
from scrubjay.notes.files.ledger import LedgerEntry
from scrubjay.notes.markdown.naming import id_in, link_target
from scrubjay.notes.markdown.note import Link, Note
from scrubjay.notes.markdown.wiki import key_of, retargeted
from scrubjay.notes.sync.context import SyncContext, has_file
from scrubjay.notes.sync.dirty import Mark, shown_links
from scrubjay.notes.sync.mapping import FILE, Linked
from scrubjay.notes.sync.mentions import (
    is_attachment,
    is_typed,
    keys_of,
    mentions_any,
    named_in,
    stem_of,
    targets_in,
    typed_as,
    typed_by,
)

__all__ = ["Links", "unresolved"]

_LONGEST = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """What somebody has done to the links of a note.

    `added` are new in the list of links, or say something else there; `typed` are new in the text, with what it calls
    them; `untied` were taken out of the list, and the text still has them. `texts` are what the note says now, where a
    link of theirs may have gone. `is_anew`: what the list says was not there before.
    """

    added: Mapping[str, str] = field(default_factory=dict[str, str])
    typed: Mapping[str, str] = field(default_factory=dict[str, str])
    untied: frozenset[str] = frozenset()
    gone: frozenset[str] = frozenset()
    texts: tuple[str, ...] = ()
    wanted: tuple[Link, ...] = ()
    is_anew: bool = True


class Links:
    """The links of one vault."""

    def __init__(self, context: SyncContext) -> None:
        self._context = context

    async def take(
        self, stance_id: str, note: Note, *, base: str, agreed: LedgerEntry, told: bool, is_anew: bool, who: Caller
    ) -> bool:
        """Make relations of what somebody has done to the links of a file; tells whether any has changed.

        `base` is the content that both agreed on, `told` whether the file says what it links in its frontmatter, too;
        `is_anew` whether it is known what the file has linked before.
        """
        if not any((note.linked, note.links, agreed.links, "[[" in note.content, "[[" in base)):
            return False
        change = await self._compare(stance_id, note, base=base, agreed=agreed, told=told)
        await self._context.do(self._context.ledger.want, stance_id, change.wanted)
        return await self._apply(stance_id, replace(change, is_anew=is_anew), who=who)

    async def mention(self, memory: Memory, *, before: str, was_linked: bool, who: Caller) -> bool:
        """Have the relations of a memory follow its text, which was another before; tells whether any has changed."""
        own = memory.trunk or memory.id
        old, now = targets_in(before), targets_in(memory.content)
        known = set(map(key_of, old))
        new = [target for target in now if key_of(target) not in known]
        found = await self.found(new)
        if old or new:
            wants = [Link(target=one) for one in new if key_of(one) not in found]
            await self._context.do(self._want_anew, own, set(map(key_of, now)), wants)
        typed = {found[key_of(one)]: one for one in reversed(new) if key_of(one) in found}
        typed.pop(own, None)
        texts = (memory.content,) if was_linked else ()
        return await self._apply(own, _Change(typed=typed, texts=texts), who=who)

    async def welcome(self, memory: Memory, path: str) -> tuple[str, ...]:
        """Link a note that has come to be with all that wanted it; tells whose files have changed by it."""
        waiting = await self._context.do(self._context.ledger.wanting, keys_of(memory, path))
        changed: list[str] = []
        for source, link in waiting:
            if source == memory.id:
                continue
            # Of what only a text wants no words are kept.
            is_typed_there = not link.text
            change = (
                _Change(typed={memory.id: link.target})
                if is_typed_there
                else _Change(added={memory.id: self._said(link.text, memory)})
            )
            await self._apply(source, change, who=self._context.who())
            await self._context.do(self._want_no_more, source, link)
            changed.append(source)
        return tuple(dict.fromkeys(changed))

    async def welcome_all(self) -> tuple[str, ...]:
        """Link what came to be while nobody looked with all that wanted it; tells whose files have changed by it."""
        wanted = await self._context.do(self._context.ledger.wanted)
        rows = await self._context.do(self._called, {key_of(link.target) for _, link in wanted})
        memories = await self._context.store.get(self._context.space, [row.memory_id for row in rows]) if rows else {}
        changed: list[str] = []
        for row in rows:
            if (memory := memories.get(row.memory_id)) is not None and memory.state is State.LIVE:
                changed += [row.memory_id, *await self.welcome(memory, row.path)]
        return tuple(dict.fromkeys(changed))

    def _called(self, keys: Iterable[str]) -> list[LedgerEntry]:
        ledger = self._context.ledger
        looks = (ledger.by_stem, ledger.by_title, ledger.by_alias) if keys else ()
        found = [some for look in looks for some in look(keys).values()]
        return list({one.memory_id: one for some in found for one in some if has_file(one)}.values())

    async def retarget(self, memory: Memory, marks: Sequence[Mark]) -> bool:
        """Have the text of a note name others by what they are called now; tells whether that has changed it."""
        if not marks or memory.state is not State.LIVE or "[[" not in memory.content:
            return False
        content = retargeted(memory.content, await self._targets(marks))
        if content == memory.content:
            return False
        edit = Edit(
            fields={"content": content}, message="what it links was renamed", branch=memory.branch, source=FILE,
            expected_version=memory.version,
        )  # fmt: skip
        await self._context.engine.revise(memory.trunk or memory.id, edit, who=self._context.who())
        return True

    async def _targets(self, marks: Sequence[Mark]) -> dict[str, str]:
        """What notes were called and are called now."""
        rows = await self._context.do(self._context.rows, [mark.id for mark in marks])
        found = await self.found([mark.title for mark in marks])
        targets: dict[str, str] = {}
        for mark in marks:
            row = rows.get(mark.id)
            if row is None or not has_file(row):
                continue
            if has_file(replace(row, path=mark.path)) and mark.path != row.path:
                targets[link_target(mark.path)] = link_target(row.path)
                targets.setdefault(stem_of(mark.path), stem_of(row.path))
            # Another note may be called so now, and be meant.
            is_own = found.get(key_of(mark.title), mark.id) == mark.id
            if is_own and key_of(mark.title) not in {key_of(row.title), *map(key_of, targets)}:
                targets[mark.title] = row.title
        return targets

    async def found(self, targets: Iterable[str]) -> dict[str, str]:
        """The ids of the notes that some targets name, by their keys; what names none, or several, is left out."""
        keys = {key_of(target): target for target in targets if key_of(target)}
        if not keys:
            return {}
        rows = await self._context.do(self._context.ledger.by_stem, [*keys, *map(stem_of, keys)])
        chosen: dict[str, str] = {}
        for key, target in keys.items():
            at = [one for one in rows.get(key) or rows.get(stem_of(key)) or () if has_file(one)]
            bare = target.strip().lower()
            if len(at) == 1:
                chosen[key] = at[0].memory_id
            elif own := bare if is_id(bare) else id_in(target):
                chosen[key] = own
        rest = [key for key in keys if key not in chosen]
        chosen |= {key: one for key in rest if (one := await self._titled(keys[key]))}
        rest = [key for key in rest if key not in chosen]
        called = await self._context.do(self._context.ledger.by_alias, rest) if rest else {}
        chosen |= {key: some[0].memory_id for key, some in called.items() if len(some) == 1}
        alive = await self._context.store.get(self._context.space, list(set(chosen.values()))) if chosen else {}
        return {key: one for key, one in chosen.items() if one in alive and alive[one].state is State.LIVE}

    async def _titled(self, target: str) -> str:
        """The one live memory that has a title or name."""
        if len(target) > _LONGEST:
            return ""
        handles = await self._context.store.find(self._context.space, target, state=State.LIVE)
        return handles[0].id if len(handles) == 1 else ""

    async def _compare(self, own: str, note: Note, *, base: str, agreed: LedgerEntry, told: bool) -> _Change:
        """What is linked now against what was. What the text named before as well is no new link."""
        section = [(link.target.partition("#")[0], link.text) for link in note.linked]
        mentioned, before = targets_in(note.content), targets_in(base)
        found = await self.found([*(target for target, _ in section), *mentioned, *before])
        shown = shown_links(agreed)
        texts = {found[key_of(target)]: text for target, text in reversed(section) if key_of(target) in found}
        named = {found[key_of(one)]: one for one in reversed(mentioned) if key_of(one) in found}
        was_named = {found[key_of(one)] for one in before if key_of(one) in found}
        # What the text named by its file was in no list of ours.
        unlisted = named_in(base, [Linked(id=one, target=link.target, text="") for one, link in shown.items()])
        listed = {link for link in note.links if is_id(link)}
        others = await self._context.store.get(self._context.space, list({*texts, *listed})) if texts or listed else {}
        added = {
            one: self._said(text, others[one])
            for one, text in texts.items()
            if one not in shown or shown[one].text != text or one in unlisted
        }
        is_live = {one for one, memory in others.items() if memory.state is State.LIVE}
        added |= {one: "" for one in listed & is_live if one not in shown and one not in added and one not in was_named}
        gone = {one for one in shown if one not in {*texts, *named, *added, *unlisted}}
        # Also where none is left of them; but who lists something else there has not taken ours out.
        if told and (listed or not note.links):
            gone |= {one for one in shown if one not in listed}
        untied = {one for one in shown if base and one in named and one not in texts and one not in unlisted}
        typed = {one: target for one, target in named.items() if one in untied or one not in {*was_named, *shown}}
        wanted = [Link(target=target, text=text or target) for target, text in section if key_of(target) not in found]
        wanted += [Link(target=one) for one in mentioned if key_of(one) not in found]
        fresh = {one.target: one for one in reversed(wanted) if one.target.strip() and not is_attachment(one.target)}
        return _Change(
            added={one: text for one, text in added.items() if one != own and one not in gone},
            typed={one: target for one, target in typed.items() if one not in {own, *gone, *added}},
            untied=frozenset(untied),
            gone=frozenset(gone),
            texts=(note.content,) if note.content != base else (),
            wanted=tuple(reversed(fresh.values())),
        )

    def _said(self, text: str, other: Memory) -> str:
        """What a relation is to say: nothing where the link says what the other note is called anyway."""
        return "" if key_of(text) in (key_of(other.label), key_of(other.name)) else " ".join(text.split())[:_LONGEST]

    async def _apply(self, own: str, change: _Change, *, who: Caller) -> bool:
        if not any((change.added, change.typed, change.gone, change.texts)):
            return False
        relations = [
            relation
            for relation in await self._context.store.relations(self._context.space, [own])
            if relation.type == LINK
        ]
        known = {_other(relation, own): relation for relation in relations}
        gone = change.gone & set(known)
        kept = {one: edge for one, edge in known.items() if is_typed(edge) and one not in {*gone, *change.added}}
        gone |= await self._unnamed(own, kept, texts=change.texts) if change.texts else frozenset()
        for other in gone:
            await self._context.engine.unrelate(own, other, who=who)
        changed = bool(gone)
        for other, text in change.added.items():
            edge = known.get(other)
            is_told = edge is not None and (not text or edge.text == text)
            if edge is not None and is_told and not (is_typed(edge) and change.is_anew):
                continue
            # An edge that is there keeps what nobody has changed.
            words = text or (edge.text if edge else "")
            changed |= await self._relate(own, other, text=words, edge=edge, typed="", who=who)
        for other, target in change.typed.items():
            edge = known.get(other)
            if edge is None or (other in change.untied and not is_typed(edge)):
                words = edge.text if edge else ""
                changed |= await self._relate(own, other, text=words, edge=edge, typed=target, who=who)
        return changed

    async def _relate(
        self, own: str, other: str, *, text: str, edge: Relation | None, typed: str, who: Caller
    ) -> bool:  # fmt: skip
        strength = edge.strength if edge else 0.5
        metadata = typed_as(typed, edge.metadata if edge else None)
        try:
            await self._context.engine.relate(own, other, who=who, text=text, strength=strength, metadata=metadata)
        except (NotFound, InvalidInput):
            return False
        return True

    async def _unnamed(self, own: str, typed: Mapping[str, Relation], *, texts: Sequence[str]) -> frozenset[str]:
        """Those of the links that came of texts alone which no text names any more, on neither end."""
        if not typed:
            return frozenset()
        sound = await SoundReader(self._context.store, space=self._context.space).get([own, *typed])
        memories = {one.id: one for one in sound}
        if own not in memories:
            return frozenset()
        rows = await self._context.do(self._context.rows, list(memories))
        # A note may be called otherwise already, and those that name it be told of that a moment later.
        keys = {
            one: keys_of(memory, rows[one].path) | {key_of(rows[one].title)} if one in rows else keys_of(memory, "")
            for one, memory in memories.items()
        }
        mine = (*texts, memories[own].content)
        gone: set[str] = set()
        for other, edge in typed.items():
            if other not in memories:
                continue
            ours, theirs = [
                keys[one] | {key_of(typed_by(edge))} if one == edge.target else keys[one] for one in (own, other)
            ]
            is_named = any(mentions_any(one, theirs, memory_id=other) for one in mine)
            if not is_named and not mentions_any(memories[other].content, ours, memory_id=own):
                gone.add(other)
        return frozenset(gone)

    def _want_anew(self, memory_id: str, named: set[str], fresh: Sequence[Link]) -> None:
        """Want what a text names that is not there, and no more what it does not name any more."""
        ledger = self._context.ledger
        known = ledger.wants_of(memory_id)
        kept = [one for one in known if one.text or key_of(one.target) in named]
        keys = {key_of(one.target) for one in kept}
        wants = [*kept, *(one for one in fresh if key_of(one.target) not in keys)]
        if wants != known:
            ledger.want(memory_id, wants)

    def _want_no_more(self, memory_id: str, link: Link) -> None:
        ledger = self._context.ledger
        ledger.want(memory_id, [one for one in ledger.wants_of(memory_id) if one.target != link.target])


def unresolved(note: Note, wanted: Iterable[Link]) -> tuple[Link, ...]:
    """The links of a file's section that lead nowhere yet, and therefore stay as they are."""
    keys = {key_of(one.target) for one in wanted}
    return tuple(link for link in note.linked if key_of(link.target.partition("#")[0]) in keys)


def _other(relation: Relation, own: str) -> str:
    return relation.target if relation.source == own else relation.source
