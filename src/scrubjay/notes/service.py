"""The verbs of notes: each is done in the store, and its files are in step before it answers."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from scrubjay.errors import InvalidInput, NotFound, ScrubjayError
from scrubjay.model.checks import require_integer, require_text, require_texts
from scrubjay.model.draft import Caller, Draft, Edit
from scrubjay.model.media import ATTACHMENT
from scrubjay.model.memory import MAIN, Json, Memory, Source, State
from scrubjay.model.relation import LINK
from scrubjay.model.results import Check, DoctorReport, Related, Similar, Status
from scrubjay.notes import results
from scrubjay.notes.context import no_note, told_as_notes
from scrubjay.notes.dates import current_date
from scrubjay.notes.markdown import templates
from scrubjay.notes.markdown.naming import file_name, link_target
from scrubjay.notes.markdown.note import Link, Note
from scrubjay.notes.markdown.sections import link_syntax
from scrubjay.notes.queries import categories, links, reviews, search
from scrubjay.notes.render import FORMATS, note_read, tidy_category
from scrubjay.notes.requests import NoteDraft, NoteEdit, NoteSearch
from scrubjay.notes.service_io import Carrying
from scrubjay.notes.sync.mapping import EXTRA
from scrubjay.ports import Progress
from scrubjay.text.slug import slug
from scrubjay.writing.validate import text

__all__ = ["Notes"]

_NAMED = 5
# So many names that look like half a title are weighed before one is taken for the only one.
_LOOKED_AT = 50
_FEWEST_WORDS = 2


class Notes(Carrying):
    """Memories as notes. Without a cabinet, and in other spaces than its own, there are no files."""

    __slots__ = ()

    async def write_note(self, draft: NoteDraft, *, who: Caller) -> results.NoteWritten:
        """Write a new note; what is like it is told, and never merged with it."""
        title = _titled(draft.title)
        form = await self._begun(draft, space=who.space)
        given = Draft(
            text=form.content, title=title, tags=(*require_texts(draft.tags, field="tags"), *form.tags),
            category=tidy_category(draft.category) or tidy_category(form.category), project=draft.project,
            kind=form.kind, pinned=form.pinned, intent="new", fixed=True,
            source=draft.source or Source(agent=who.agent), idempotency_key=draft.idempotency_key,
            metadata={EXTRA: form.extra} if form.extra else {},
        )  # fmt: skip
        done = await self.engine.remember(given, who=who)
        known = await self.engine.store.get(who.space, [done.id]) if done.id else {}
        memory = known.get(done.id)
        # What waits for a person's yes is no note yet.
        is_kept = memory is not None and memory.state is State.LIVE
        paths, problems = await self._filed([done.id] if is_kept else [], space=who.space)
        return results.NoteWritten(
            action=done.action, id=done.id, name=done.name, title=memory.title if memory else title.strip(),
            file_path=paths.get(done.id, ""), created_at=memory.created_at if memory else None, version=done.version,
            category=memory.category if memory else "", tags=done.tags, conflicts=done.conflicts,
            similar=await self._alike(memory, done.similar) if memory else (),
            warnings=(*done.warnings, *problems),
        )  # fmt: skip

    async def read_note(self, identifier: str, *, who: Caller, format: str = "markdown") -> results.NoteRead:
        """A note by id, title, name, file name or half of a title, with its content in a format."""
        if format not in FORMATS:
            raise InvalidInput(f"format must be one of {', '.join(FORMATS)}, not {str(format)[:60]!r}", field="format")
        if not require_text(identifier, field="identifier").strip():
            raise InvalidInput("say which note", hint="Give its id or its title", field="identifier")
        found = await self.engine.read((await self._ref(identifier, who=who),), who=who, format="json")
        if not found.memories and (name := await self._with_words(identifier, who=who)):
            found = await self.engine.read((name,), who=who, format="json")
        if not found.memories:
            raise no_note(identifier, found.missing[0].suggestions)
        memory = found.memories[0]
        ends = [
            other
            for relation in found.relations
            if relation.type == LINK and (other := _other(relation.source, relation.target, memory))
        ]
        links = await self._live(dict.fromkeys(ends), space=memory.space)
        path = (await self._paths([memory.id], space=memory.space)).get(memory.id, "")
        return await asyncio.to_thread(
            note_read, memory, links=links, path=path, format=format, now=self.engine.clock.now()
        )

    async def edit_note(self, id: str, edit: NoteEdit, *, who: Caller) -> results.NoteChanged:
        """Change a note; what is not given stays as it is, and the state before stays a version."""
        given = Edit(
            fields=self._changed(edit), expected_version=edit.expected_version, message=edit.message,
            idempotency_key=edit.idempotency_key,
        )  # fmt: skip
        with told_as_notes():
            done = await self.engine.revise(await self._ref(id, who=who), given, who=who)
        memory = await self._standing(done.id, branch=done.branch, who=who)
        paths, problems = await self._filed([done.id], space=who.space)
        return results.NoteChanged(
            success=True, action=done.action, id=done.id, name=done.name, title=memory.label,
            updated_at=memory.updated_at, file_path=paths.get(done.id, ""), version=done.version,
            conflicts=done.conflicts, warnings=(*done.warnings, *problems),
        )  # fmt: skip

    async def search_notes(self, asked: NoteSearch, *, who: Caller) -> results.NotesFound:
        """Notes by their words; with `semantic` by their meaning too."""
        tidy = replace(asked, category=tidy_category(asked.category))
        found = await search.search(tidy, engine=self.engine, who=who)
        paths = await self._paths([result.id for result in found.results], space=who.space)
        return replace(
            found, results=tuple(replace(result, file_path=paths.get(result.id, "")) for result in found.results)
        )

    async def link_notes(
        self, source_id: str, target_id: str, *, who: Caller, link_text: str = ""
    ) -> results.NoteLinked:
        """Link two notes with each other; the text is what the link shows, unless that is the other's title."""
        source, target = await self._ref(source_id, who=who), await self._ref(target_id, who=who)
        with told_as_notes():
            done = await self.engine.relate(source, target, who=who, text=link_text)
        paths, problems = await self._filed([done.source, done.target], space=who.space)
        shown = " ".join(link_text.split()) or done.target_name
        link = Link(target=await self._stem(done.target, paths, space=who.space), text=shown)
        return replace(await self._linked(done, who=who), markdown_link=link_syntax(link), warnings=problems)

    async def unlink_notes(self, source_id: str, target_id: str, *, who: Caller) -> results.NoteLinked:
        """Take the link between two notes away, from both ends."""
        source, target = await self._ref(source_id, who=who), await self._ref(target_id, who=who)
        with told_as_notes():
            done = await self.engine.unrelate(source, target, who=who)
        _, problems = await self._filed([done.source, done.target], space=who.space)
        return replace(await self._linked(done, who=who), warnings=problems)

    async def current_date(self, *, format: str = "iso", timezone: str = "") -> results.CurrentDate:
        """The date and time of now."""
        return current_date(self.engine.clock.now(), format=format, timezone=timezone)

    async def review_note(self, id: str, *, who: Caller) -> results.NoteReviewed:
        """Note that somebody has looked through a note."""
        with told_as_notes():
            done = await reviews.review(await self._ref(id, who=who), engine=self.engine, who=who)
        memory = await self._standing(done.id, branch=done.branch, who=who)
        paths, _ = await self._filed([done.id], space=who.space)
        return results.NoteReviewed(
            success=True, id=done.id, title=memory.label, last_reviewed=memory.last_reviewed or memory.updated_at,
            file_path=paths.get(done.id, ""), version=done.version,
        )  # fmt: skip

    async def due_notes(self, *, who: Caller, days: int = 90, limit: int = 20, category: str = "") -> results.DueNotes:
        """The notes that nobody has looked through for so many days."""
        found = await reviews.due(
            engine=self.engine, space=who.space, days=require_integer(days, field="days", least=0, most=36_500),
            limit=require_integer(limit, field="limit", most=self.engine.limits.results),
            category=tidy_category(category),
        )  # fmt: skip
        paths = await self._paths([note.id for note in found.notes], space=who.space)
        return results.DueNotes(notes=tuple(replace(note, file_path=paths.get(note.id, "")) for note in found.notes))

    async def backlinks(self, id: str, *, who: Caller) -> results.Backlinks:
        """The notes that link to one."""
        ref = await self._ref(id, who=who)
        known = await self.engine.store.find(who.space, ref)
        own = [link_target(path) for path in (await self._paths([one.id for one in known], space=who.space)).values()]
        names = [*own, *(one.rpartition("/")[2] for one in own)]
        with told_as_notes():
            found = await links.backlinks(ref, engine=self.engine, space=who.space, names=names)
        paths = await self._paths([backlink.id for backlink in found.backlinks], space=who.space)
        return replace(
            found,
            backlinks=tuple(replace(backlink, file_path=paths.get(backlink.id, "")) for backlink in found.backlinks),
        )

    async def broken_links(self, *, who: Caller, limit: int = 100) -> results.BrokenLinks:
        """The links that lead to no note, and which may be meant."""
        vault = await self._vault(who.space)
        found = await links.broken_links(
            engine=self.engine, space=who.space, wanted=await vault.wanted() if vault else (),
            known=await vault.names() if vault else (),
            limit=require_integer(limit, field="limit", most=self.engine.limits.results),
        )  # fmt: skip
        paths = await self._paths([link.id for link in found.links], space=who.space)
        return results.BrokenLinks(links=tuple(replace(link, file_path=paths.get(link.id, "")) for link in found.links))

    async def note_categories(self, *, who: Caller) -> results.Categories:
        """The categories of notes and how many are in each, alone and with those below it."""
        tree = await categories.category_tree(engine=self.engine, space=who.space)
        return results.Categories(categories=tuple(_flat(tree)))

    async def note_templates(self, *, who: Caller) -> results.Templates:
        """The forms that a new note can begin with."""
        folder = self._folder(who.space)
        names = await asyncio.to_thread(templates.template_names, folder) if folder else tuple(templates.BUILT_IN)
        return results.Templates(
            templates=tuple(results.Template(name=name, built_in=name in templates.BUILT_IN) for name in names),
            folder=str(folder / templates.FOLDER) if folder else "",
        )

    async def sync_notes(
        self, *, who: Caller, deletions: bool = False, adopt: bool = False, progress: Progress | None = None
    ) -> results.NotesSynced:
        """Bring the store and the whole folder in step; `deletions` confirms that many files are gone.

        `adopt`: a folder of another store's is this one's from now on.
        """
        if self.vaults is None or self.vaults.space != who.space:
            raise InvalidInput(
                f"the space {who.space!r} has no folder of notes",
                hint="Its notes are in the store alone; the folder is that of the server's own space",
                field="space",
            )
        vault = await self.vaults.require(adopt=adopt)
        done = await vault.sync(progress=progress, deletions=deletions)
        # As it was named, which may be a link to where it lies.
        return replace(
            done, folder=str(self.vaults.folder), problems=(*self.vaults.take_news(), *done.problems)
        )  # fmt: skip

    async def status(self, *, who: Caller) -> Status:
        """Health and sizes, with those of the folder of notes."""
        found = await self.engine.status(who=who)
        return replace(found, vault=await self._state()) if self.vaults is not None else found

    async def doctor(self, *, who: Caller, deep: bool = False, repair: bool = False) -> DoctorReport:
        """Look at everything, after repairing what can be when asked."""
        mended = ""
        if repair and self.vaults is not None and (vault := await self.vaults.vault()) is not None:
            try:
                await vault.sync()
            except ScrubjayError as error:
                mended = str(error)
        found = await self.engine.doctor(who=who, deep=deep, repair=repair)
        check = await self._check(mended)
        return replace(found, checks=(*found.checks, check)) if check is not None else found

    async def _state(self) -> dict[str, str | int | bool]:
        assert self.vaults is not None
        vault = await self.vaults.vault()
        if vault is None:
            return {"path": str(self.vaults.folder), "problem": self.vaults.problem} if self.vaults.problem else {}
        return {
            "path": str(self.vaults.folder), "space": self.vaults.space, "files": await vault.count(),
            "problems": len(await vault.problems()), "follows": vault.follows,
        }  # fmt: skip

    async def _check(self, mended: str) -> Check | None:
        """How the folder of notes is; None where there is none."""
        if self.vaults is None:
            return None
        vault = await self.vaults.vault()
        if vault is None:
            problem = self.vaults.problem
            return Check(name="notes", ok=False, detail=problem, fix="Do what it says") if problem else None
        found = [*([mended] if mended else []), *(await vault.problems()), *(await vault.drift())]
        told = "; ".join(found[:_NAMED]) + (f"; and {len(found) - _NAMED} more" if len(found) > _NAMED else "")
        return Check(
            name="notes",
            ok=not found,
            detail=told or f"{_counted(await vault.count())} in {self.vaults.folder}, in step",
            fix="`scrubjay doctor --repair` brings them in step; correct the files that it names" if found else "",
        )

    def _changed(self, edit: NoteEdit) -> dict[str, Json]:
        """The fields of a memory that an edit of a note changes."""
        fields: dict[str, Json] = {}
        if edit.title is not None:
            fields["title"] = _titled(edit.title)
        if edit.content is not None:
            fields["content"] = text(edit.content, field="content", limit=self.engine.limits.text_bytes)
        if edit.tags is not None:
            fields["tags"] = list(require_texts(edit.tags, field="tags"))
        if edit.category is not None:
            fields["category"] = tidy_category(edit.category)
        return fields

    async def _begun(self, draft: NoteDraft, *, space: str) -> Note:
        """What a new note says: what is given, behind the template if one is named."""
        said = text(draft.content, field="content", limit=self.engine.limits.text_bytes)
        form = Note()
        if draft.template:
            named = await self._template(require_text(draft.template, field="template"), space=space)
            filled = templates.filled(named, title=draft.title, now=self.engine.clock.now().astimezone())
            form = templates.begun(filled)
            if form.content.strip():
                said = f"{form.content.rstrip()}\n\n{said}" if said.strip() else form.content
        if not said.strip():
            raise InvalidInput(
                "a note needs content", hint="Give content, or a template to begin with", field="content"
            )
        # What is called so has no file of its own.
        return replace(form, content=said, kind="" if form.kind == ATTACHMENT else form.kind)

    async def _template(self, name: str, *, space: str) -> str:
        folder = self._folder(space)
        if folder is not None:
            return await asyncio.to_thread(templates.template_text, folder, name)
        if name not in templates.BUILT_IN:
            names = ", ".join(templates.BUILT_IN)
            raise NotFound(f"there is no template {name[:100]!r}", hint=f"There are {names}", ref=name[:200])
        return templates.BUILT_IN[name]

    async def _with_words(self, identifier: str, *, who: Caller) -> str:
        """The name of the only note whose title has all of these words, if they are half of it; or nothing."""
        words = set(slug(identifier).split("-"))
        if len(words) < _FEWEST_WORDS:
            return ""
        names = await self.engine.store.nearest(who.space, identifier, limit=_LOOKED_AT)
        fitting = [parts for name in names if words <= set(parts := name.split("-"))]
        return "-".join(fitting[0]) if len(fitting) == 1 and len(words) * 2 >= len(fitting[0]) else ""

    async def _alike(self, memory: Memory, known: tuple[Similar, ...]) -> tuple[Similar, ...]:
        """What is like a new note: what was found to be, and what says the very same, which needs no vectors."""
        seen = {memory.id, *(one.id for one in known)}
        same = [one for one in await self.engine.store.same_content(memory.space, memory.content) if one not in seen]
        others = await self.engine.store.get(memory.space, same[:_NAMED]) if same else {}
        return (*known, *(Similar(id=other.id, name=other.name, similarity=1.0) for other in others.values()))

    async def _live(self, ids: Mapping[str, object], *, space: str) -> tuple[str, ...]:
        """Those that are not in the trash."""
        known = await self.engine.store.get(space, list(ids)) if ids else {}
        return tuple(one.id for one in known.values() if one.state is State.LIVE)

    async def _standing(self, memory_id: str, *, branch: str, who: Caller) -> Memory:
        """A memory as it is on a branch."""
        if branch == MAIN:
            return (await self.engine.store.get(who.space, [memory_id]))[memory_id]
        return (await self.engine.read((memory_id,), who=who, format="json", branch=branch)).memories[0]

    async def _linked(self, done: Related, *, who: Caller) -> results.NoteLinked:
        ends: dict[str, list[str]] = {}
        for end, edges in ((done.source, done.source_links), (done.target, done.target_links)):
            others = [edge.target if edge.source == end else edge.source for edge in edges if edge.type == LINK]
            ends[end] = list(dict.fromkeys(others))
        both = dict.fromkeys((*ends[done.source], *ends[done.target]))
        live = set(await self._live(both, space=who.space))
        return results.NoteLinked(
            success=True, action=done.action, source_id=done.source, source_title=done.source_name,
            source_links=tuple(one for one in ends[done.source] if one in live), target_id=done.target,
            target_title=done.target_name, target_links=tuple(one for one in ends[done.target] if one in live),
        )  # fmt: skip

    async def _stem(self, memory_id: str, paths: Mapping[str, str], *, space: str) -> str:
        """What a link to a note names."""
        if memory_id in paths and self.vaults is not None:
            return link_target(paths[memory_id].removeprefix(f"{self.vaults.folder}/"))
        memory = (await self.engine.store.get(space, [memory_id]))[memory_id]
        return link_target(file_name(category=memory.category, title=memory.label, id=memory.id))


def _counted(files: int) -> str:
    return "1 file" if files == 1 else f"{files:,} files"


def _titled(title: str) -> str:
    if not require_text(title, field="title").strip():
        raise InvalidInput("a note needs a title", field="title")
    return title


def _flat(tree: Iterable[categories.Branch]) -> Iterator[results.Category]:
    for one in tree:
        yield results.Category(path=one.path, name=one.name, notes=one.notes, total=one.total)
        yield from _flat(one.children)


def _other(source: str, target: str, memory: Memory) -> str:
    """The other end of an edge of a memory, or nothing if it is of another."""
    own = memory.trunk or memory.id
    return target if source == own else source if target == own else ""
