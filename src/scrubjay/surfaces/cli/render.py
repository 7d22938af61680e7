"""Answers for people: short lines, the id always there to go on with."""

from collections.abc import Callable
from typing import TypeVar

from scrubjay.model.branch import Branches, BranchMerged
from scrubjay.model.conflict import ConflictDetails
from scrubjay.model.fact import Extracted
from scrubjay.model.memory import MAIN
from scrubjay.model.results import (
    Context,
    DoctorReport,
    History,
    Hit,
    Missing,
    Outcome,
    ReadResult,
    Recalled,
    Related,
    Remembered,
    Similar,
    Status,
    Undone,
    Written,
)
from scrubjay.model.rules import Rules
from scrubjay.model.transfer import Imported
from scrubjay.surfaces.cli.console import say, say_warnings
from scrubjay.surfaces.cli.render_facts import show_extracted
from scrubjay.surfaces.cli.render_graph import Tree, Way, show_tree, show_way
from scrubjay.surfaces.cli.render_notes import NOTE_PRINTERS
from scrubjay.surfaces.cli.render_versions import show_branches, show_history, show_joined

T = TypeVar("T")


def show(answer: object) -> None:
    """Print an answer in the way that suits its type."""
    for kind, printer in (*_PRINTERS, *NOTE_PRINTERS):
        if isinstance(answer, kind):
            printer(answer)
            return
    say(str(answer))


def _remembered(answer: Remembered) -> None:
    say(_remembered_as(answer))
    if len(answer.ids) > 1:
        say(f"  one record for each entity: {', '.join(answer.ids)}")
    if answer.tags:
        say(f"  tags: {', '.join(answer.tags)}")
    if answer.flags:
        say(f"  marked as {', '.join(answer.flags)}")
    for one in answer.similar:
        say(f"  {_like(one, into=answer.merged_into)}")
    _conflicts(answer.conflicts)
    if answer.suggested_entities and answer.action == "created":
        say(f"  it seems to be about {', '.join(answer.suggested_entities)}: --entity files it under them")
    say_warnings(answer.warnings)


def _remembered_as(answer: Remembered) -> str:
    if answer.action == "rejected":
        why = answer.trace[-1].why if answer.trace and not answer.warnings else ""
        return "rejected: nothing was stored" + (f" ({why})" if why else "")
    if answer.action != "merged":
        return f"{answer.action} {answer.name} ({answer.id or 'dry run'}), version {answer.version}"
    alike = "" if answer.similarity is None else f", {answer.similarity:.2f} alike"
    return f"merged into {answer.name} ({answer.merged_into}), version {answer.version}{alike}"


def _like(one: Similar, *, into: str) -> str:
    if one.id == into:
        return f"may contradict what was there before ({one.differs}): revise it if something no longer holds"
    told = f": may contradict it ({one.differs}); revise or forget what no longer holds" if one.differs else ""
    return f"like {one.name} ({one.id}), {one.similarity:.2f}{told}"


def _recalled(answer: Recalled) -> None:
    for hit in answer.pinned:
        _hit(hit, mark="*")
    for number, hit in enumerate(answer.hits, start=1):
        _hit(hit, mark=str(number))
    if not answer.hits and not answer.pinned:
        say("nothing found")
    for note in answer.degraded:
        say(f"note: {note}")
    if answer.cursor:
        say(f"more: --cursor {answer.cursor}")


def _hit(hit: Hit, *, mark: str) -> None:
    entities = f" [{', '.join(hit.entities)}]" if hit.entities else ""
    branch = f" (branch {hit.branch})" if hit.branch != MAIN else ""
    say(f"{mark}. {hit.title or hit.name}{entities}{branch}  {hit.date.date()}  {hit.score:.2f}")
    say(f"   {' '.join(hit.passage.split())}")
    say(f"   {hit.id}" + (f"  ({'; '.join(hit.why)})" if hit.why else ""))
    for one in hit.around:
        say(f"   {one.place:+5}  {one.date.date()}  {' '.join(one.passage.split())}  {one.id}")


def _read(answer: ReadResult) -> None:
    if answer.texts:
        say("\n".join(answer.texts))
    _missing(answer.missing)


def _written(answer: Written) -> None:
    say(f"{answer.action} {answer.name} ({answer.id}), version {answer.version}{_of_branch(answer)}")
    _conflicts(answer.conflicts)
    say_warnings(answer.warnings)


def _of_branch(answer: Written) -> str:
    return f" of branch {answer.branch}" if answer.branch != MAIN else ""


def _outcome(answer: Outcome) -> None:
    would = "would be " if answer.dry_run else ""
    for one in answer.done:
        say(f"{would}{one.action} {one.name} ({one.id}){_of_branch(one)}")
        _conflicts(one.conflicts)
        say_warnings(one.warnings)
    if not answer.done and not answer.missing:
        say("nothing to do")
    _missing(answer.missing)


def _joined(answer: BranchMerged) -> None:
    show_joined(answer)
    _conflicts(answer.conflicts)


def _related(answer: Related) -> None:
    say(f"{answer.action} {answer.source_name} -> {answer.target_name}")
    for name, links in ((answer.source_name, answer.source_links), (answer.target_name, answer.target_links)):
        kinds = ", ".join(sorted({link.type for link in links})) or "none"
        say(f"  {name} has {len(links)} {'relation' if len(links) == 1 else 'relations'}: {kinds}")


def _conflicts(conflicts: tuple[ConflictDetails, ...]) -> None:
    for conflict in conflicts:
        why = f" ({', '.join(conflict.differs)})" if conflict.differs else ""
        words = " ".join(conflict.other.statement.split())
        say(f"  {conflict.type.value} of {conflict.other.name}{why}: {words}")
        say(f"    suggested: {conflict.suggested_action.value} [{conflict.id}]")


def _context(answer: Context) -> None:
    say(answer.text or "\n".join(answer.left_out))


def _undone(answer: Undone) -> None:
    for one in answer.done:
        say(f"undone {one.name} ({one.id}), now version {one.version}{_of_branch(one)}")
    for reason in answer.skipped:
        say(f"left alone: {reason}")
    if not answer.done and not answer.skipped:
        say("undone")


def _status(answer: Status) -> None:
    rows: list[tuple[str, object]] = [
        ("space", answer.space),
        ("data", answer.data),
        ("memories", _spell(answer.memories) or "none"),
        ("versions", answer.versions),
        ("relations", answer.relations),
        ("store", _spell(answer.store)),
        ("bodies", f"{answer.compression['saved']:.0%} smaller than plain JSON"),
        ("embedding", _spell(answer.embedding)),
        ("index", _spell(answer.index)),
        *((("notes", _spell(answer.vault)),) if answer.vault else ()),
        ("llm", _spell(answer.llm) or "off"),
        ("daemon", _spell(answer.daemon) or "none runs; this command opened the store"),
        ("scrubjay", answer.version),
    ]
    for name, value in rows:
        say(f"{name:<9}  {value}")
    for note in answer.degraded:
        say(f"note: {note}")


def _examination(answer: DoctorReport) -> None:
    for check in answer.checks:
        say(f"{'ok  ' if check.ok else 'FAIL'} {check.name}: {check.detail}")
        if check.fix:
            say(f"     {check.fix}")


def _imported(answer: Imported) -> None:
    say(f"imported {answer.imported} memories and {answer.relations} relations; {answer.known} were there already")
    for one in answer.renamed:
        say(f"  renamed {one}")
    for duplicate in answer.duplicates:
        say(f"  stood twice, stored once: {duplicate}")


def _rules(answer: Rules) -> None:
    usual = Rules().as_json
    for name, value in answer.as_json.items():
        told = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        say(f"{'*' if value != usual[name] else ' '} {name:<16}  {told}".rstrip())


def _missing(missing: tuple[Missing, ...]) -> None:
    for one in missing:
        near = f"; did you mean {' or '.join(one.suggestions)}?" if one.suggestions else ""
        say(f"not found: {one.ref}{f' ({one.why})' if one.why else ''}{near}")


def _spell(values: dict[str, T]) -> str:
    told = {name: value for name, value in values.items() if value not in ("", False)}
    return ", ".join(name if value is True else f"{name} {value}" for name, value in told.items())


_PRINTERS: list[tuple[type, Callable[..., None]]] = [
    (Remembered, _remembered),
    (Recalled, _recalled),
    (ReadResult, _read),
    (Written, _written),
    (Outcome, _outcome),
    (Related, _related),
    (Tree, show_tree),
    (Way, show_way),
    (History, show_history),
    (Branches, show_branches),
    (BranchMerged, _joined),
    (Context, _context),
    (Extracted, show_extracted),
    (Undone, _undone),
    (Status, _status),
    (DoctorReport, _examination),
    (Imported, _imported),
    (Rules, _rules),
]
