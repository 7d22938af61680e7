"""Links and relations: what a file links becomes related, and what is related is linked, also when either moves."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from scrubjay.errors import InvalidInput, NotFound
from scrubjay.model.draft import Caller, Edit
from scrubjay.model.identity import is_id
from scrubjay.model.memory import Memory, State
from scrubjay.model.relation import LINK, Relation
from scrubjay.notes.disk.ledger import Agreed
from scrubjay.notes.page.naming import id_in, link_target
from scrubjay.notes.page.note import Link, Note
from scrubjay.notes.page.wiki import key_of, mentions, retargeted
from scrubjay.notes.syncing.hands import Hands, has_file
from scrubjay.notes.syncing.marking import Mark, shown_links
from scrubjay.notes.syncing.sheet import FILE, Linked

__all__ = ["Links", "keys_of", "named_in", "targets_in", "unresolved"]

_LONGEST = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """What somebody has done to the links of a file: those that are new or say something else, and those gone."""

    added: Mapping[str, str]
    gone: frozenset[str]
    wanted: tuple[Link, ...]


def targets_in(content: str) -> tuple[str, ...]:
    """The notes that a text links, or embeds."""
    found = (one.target for one in mentions(content) if one.target.strip() and not _is_attachment(one.target))
    return tuple(dict.fromkeys(found))


def named_in(content: str, linked: Sequence[Linked]) -> frozenset[str]:
    """Those of the linked that a text itself names by their files."""
    if not linked or "[[" not in content:
        return frozenset()
    keys = {key_of(target) for target in targets_in(content)}
    return frozenset(one.id for one in linked if keys & {key_of(one.target), key_of(_stem(one.target))})


def keys_of(memory: Memory, path: str) -> set[str]:
    """All that a link may call a note by."""
    names = (memory.label, memory.name, memory.id, link_target(path), _stem(path))
    return {key for one in names if (key := key_of(one))}


class Links:
    """The links of one vault."""

    def __init__(self, hands: Hands) -> None:
        self._hands = hands

    async def take(self, stance_id: str, note: Note, *, base: str, agreed: Agreed, told: bool, who: Caller) -> bool:
        """Make relations of what somebody has done to the links of a file; tells whether any has changed.

        `base` is the content that both agreed on, `told` whether the file says what it links in its frontmatter, too.
        """
        if not any((note.linked, note.links, agreed.links, "[[" in note.content, "[[" in base)):
            return False
        change = await self._compare(stance_id, note, base=base, agreed=agreed, told=told)
        await self._hands.do(self._hands.ledger.want, stance_id, change.wanted)
        return await self._apply(stance_id, change, who=who)

    async def mention(self, memory: Memory, *, before: str, who: Caller) -> bool:
        """Make relations of what the text of a memory links that it did not before; tells whether there were any."""
        if "[[" not in memory.content:
            return False
        old = set(map(key_of, targets_in(before)))
        new = [target for target in targets_in(memory.content) if key_of(target) not in old]
        if not new:
            return False
        found = await self.found(new)
        wants = [Link(target=one) for one in new if key_of(one) not in found]
        if wants:
            await self._hands.do(self._want_also, memory.id, wants)
        added = {one: "" for one in found.values() if one != memory.id}
        return await self._apply(memory.id, _Change(added=added, gone=frozenset(), wanted=()), who=who)

    async def welcome(self, memory: Memory, path: str) -> tuple[str, ...]:
        """Link a note that has come to be with all that wanted it; tells whose files have changed by it."""
        waiting = await self._hands.do(self._hands.ledger.wanting, keys_of(memory, path))
        changed: list[str] = []
        for source, link in waiting:
            if source == memory.id:
                continue
            change = _Change(added={memory.id: self._said(link.text, memory)}, gone=frozenset(), wanted=())
            await self._apply(source, change, who=self._hands.who())
            await self._hands.do(self._want_no_more, source, link)
            changed.append(source)
        return tuple(dict.fromkeys(changed))

    async def welcome_all(self) -> tuple[str, ...]:
        """Link what came to be while nobody looked with all that wanted it; tells whose files have changed by it."""
        wanted = await self._hands.do(self._hands.ledger.wanted)
        rows = await self._hands.do(self._called, {key_of(link.target) for _, link in wanted})
        memories = await self._hands.store.get(self._hands.space, [one.memory_id for one in rows]) if rows else {}
        changed: list[str] = []
        for row in rows:
            if (memory := memories.get(row.memory_id)) is not None and memory.state is State.LIVE:
                changed += [row.memory_id, *await self.welcome(memory, row.path)]
        return tuple(dict.fromkeys(changed))

    def _called(self, keys: Iterable[str]) -> list[Agreed]:
        ledger = self._hands.ledger
        found = [*ledger.by_stem(keys).values(), *ledger.by_title(keys).values()] if keys else []
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
        await self._hands.engine.revise(memory.trunk or memory.id, edit, who=self._hands.who())
        return True

    async def _targets(self, marks: Sequence[Mark]) -> dict[str, str]:
        """What notes were called and are called now."""
        rows = await self._hands.do(self._hands.rows, [one.id for one in marks])
        found = await self.found([one.title for one in marks])
        targets: dict[str, str] = {}
        for mark in marks:
            row = rows.get(mark.id)
            if row is None or not has_file(row):
                continue
            if has_file(replace(row, path=mark.path)) and mark.path != row.path:
                targets[link_target(mark.path)] = link_target(row.path)
                targets.setdefault(_stem(mark.path), _stem(row.path))
            # Another note may be called so now, and be meant.
            is_own = found.get(key_of(mark.title), mark.id) == mark.id
            if is_own and key_of(mark.title) not in {key_of(row.title), *map(key_of, targets)}:
                targets[mark.title] = row.title
        return targets

    async def found(self, targets: Iterable[str]) -> dict[str, str]:
        """The ids of the notes that some targets name, by their keys; what names none, or several, is left out."""
        keys = {key_of(one): one for one in targets if key_of(one)}
        if not keys:
            return {}
        rows = await self._hands.do(self._hands.ledger.by_stem, [*keys, *map(_stem, keys)])
        chosen: dict[str, str] = {}
        for key, target in keys.items():
            at = [one for one in rows.get(key) or rows.get(_stem(key)) or () if has_file(one)]
            bare = target.strip().lower()
            if len(at) == 1:
                chosen[key] = at[0].memory_id
            elif own := bare if is_id(bare) else id_in(target):
                chosen[key] = own
        rest = [key for key in keys if key not in chosen]
        chosen |= {key: one for key in rest if (one := await self._titled(keys[key]))}
        alive = await self._hands.store.get(self._hands.space, list(set(chosen.values()))) if chosen else {}
        return {key: one for key, one in chosen.items() if one in alive and alive[one].state is State.LIVE}

    async def _titled(self, target: str) -> str:
        """The one live memory that has a title or name."""
        if len(target) > _LONGEST:
            return ""
        handles = await self._hands.store.find(self._hands.space, target, state=State.LIVE)
        return handles[0].id if len(handles) == 1 else ""

    async def _compare(self, own: str, note: Note, *, base: str, agreed: Agreed, told: bool) -> _Change:
        """What is linked now against what was. What the text named before as well is no new link."""
        section = [(link.target.partition("#")[0], link.text) for link in note.linked]
        mentioned, before = targets_in(note.content), targets_in(base)
        found = await self.found([*(target for target, _ in section), *mentioned, *before])
        shown = shown_links(agreed)
        texts = {found[key_of(target)]: text for target, text in reversed(section) if key_of(target) in found}
        named = {found[key_of(one)] for one in mentioned if key_of(one) in found}
        was_named = {found[key_of(one)] for one in before if key_of(one) in found}
        listed = {one for one in note.links if is_id(one)}
        others = await self._hands.store.get(self._hands.space, list({*texts, *listed})) if texts or listed else {}
        added = {one: self._said(text, others[one]) for one, text in texts.items() if shown.get(one) != text}
        added |= {one: "" for one in named - was_named if one not in shown and one not in texts}
        is_live = {one for one, memory in others.items() if memory.state is State.LIVE}
        added |= {one: "" for one in listed & is_live if one not in shown and one not in added and one not in was_named}
        gone = {one for one in shown if one not in texts and one not in named and one not in added}
        # Also where none is left of them; but who lists something else there has not taken ours out.
        if told and (listed or not note.links):
            gone |= {one for one in shown if one not in listed}
        wanted = [Link(target=target, text=text) for target, text in section if key_of(target) not in found]
        wanted += [Link(target=one) for one in mentioned if key_of(one) not in found]
        fresh = {one.target: one for one in reversed(wanted) if one.target.strip() and not _is_attachment(one.target)}
        added = {one: text for one, text in added.items() if one != own and one not in gone}
        return _Change(added=added, gone=frozenset(gone), wanted=tuple(reversed(fresh.values())))

    def _said(self, text: str, other: Memory) -> str:
        """What a relation is to say: nothing where the link says what the other note is called anyway."""
        return "" if key_of(text) in (key_of(other.label), key_of(other.name)) else " ".join(text.split())[:_LONGEST]

    async def _apply(self, own: str, change: _Change, *, who: Caller) -> bool:
        if not change.added and not change.gone:
            return False
        engine = self._hands.engine
        relations = [one for one in await self._hands.store.relations(self._hands.space, [own]) if one.type == LINK]
        known = {_other(one, own): one for one in relations}
        for other in change.gone & set(known):
            await engine.unrelate(own, other, who=who)
        changed = bool(change.gone & set(known))
        for other, text in change.added.items():
            edge = known.get(other)
            if edge is not None and (not text or edge.text == text):
                continue
            try:
                # An edge that is there keeps what nobody has changed.
                await engine.relate(
                    own, other, who=who, text=text, strength=edge.strength if edge else 0.5,
                    metadata=edge.metadata if edge else None,
                )  # fmt: skip
            except (NotFound, InvalidInput):
                continue
            changed = True
        return changed

    def _want_also(self, memory_id: str, links: Sequence[Link]) -> None:
        known = self._hands.ledger.wants_of(memory_id)
        keys = {key_of(one.target) for one in known}
        fresh = [one for one in links if key_of(one.target) not in keys]
        if fresh:
            self._hands.ledger.want(memory_id, [*known, *fresh])

    def _want_no_more(self, memory_id: str, link: Link) -> None:
        ledger = self._hands.ledger
        ledger.want(memory_id, [one for one in ledger.wants_of(memory_id) if one.target != link.target])


def unresolved(note: Note, wanted: Iterable[Link]) -> tuple[Link, ...]:
    """The links of a file's section that lead nowhere yet, and therefore stay as they are."""
    keys = {key_of(one.target) for one in wanted}
    return tuple(link for link in note.linked if key_of(link.target.partition("#")[0]) in keys)


def _other(relation: Relation, own: str) -> str:
    return relation.target if relation.source == own else relation.source


def _stem(target: str) -> str:
    return PurePosixPath(link_target(target)).name


def _is_attachment(target: str) -> bool:
    suffix = PurePosixPath(target).suffix.lower()
    return suffix in _MEDIA


_MEDIA = frozenset(
    f".{one}"
    for one in (
        "png jpg jpeg gif webp svg bmp avif tif tiff heic mp3 wav m4a ogg flac webm 3gp mp4 mov mkv ogv avi pdf docx "
        "odt xlsx pptx txt html htm csv json canvas base zip"
    ).split()
)
