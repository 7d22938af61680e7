"""Results for people: short lines, always with the id for the next command."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from scrubjay.model.branch import Branches, BranchMerged
from scrubjay.model.code import CodeResult
from scrubjay.model.conflict import ConflictDetails, ConflictStatus
from scrubjay.model.fact import Extracted, StoredFact
from scrubjay.model.health import HealthReport
from scrubjay.model.labels import project_mark
from scrubjay.model.memory import MAIN
from scrubjay.model.relation import LINK, Network, NetworkNode, Relation
from scrubjay.model.results import (
    Context,
    DoctorReport,
    DueReminders,
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
    Summary,
    Undone,
    Usage,
    Written,
)
from scrubjay.model.rules import Rules
from scrubjay.model.transfer import Imported
from scrubjay.surfaces.cli.console import Span, paint, paint_table, say, say_warnings, shorten
from scrubjay.surfaces.cli.render_health import HealthCheck, show_health, show_health_check
from scrubjay.surfaces.cli.render_notes import NOTE_PRINTERS
from scrubjay.surfaces.cli.render_versions import show_branches, show_history, show_merge

T = TypeVar("T")
_MAX_STATEMENT = 100
_MAX_NAME = 40
_ACTION_STYLES = {"created": "green", "merged": "cyan", "rejected": "red", "unchanged": "dim"}
_NO_PATH = "no path connects them"
_NO_PATH_FOUND = "no path found within the search limit: narrow the search with --type"
_MORE = "there are more: --limit shows them"


class RelationTree(Network):
    """The neighbourhood of memories, shown as a tree: each memory is below the one that leads to it."""


class RelationPath(Network):
    """A path from one memory to another, shown one relation per line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryTable:
    """Memories below each other, one a line."""

    hits: tuple[Hit, ...]
    cursor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceList:
    """The spaces of a store."""

    spaces: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.spaces) or "there are no spaces: the first memory makes one"


def show(result: object) -> None:
    """Print a result in the way that suits its type."""
    for kind, printer in (*_PRINTERS, *NOTE_PRINTERS):
        if isinstance(result, kind):
            printer(result)
            return
    say(str(result))


def _show_remembered(result: Remembered) -> None:
    say(_summarize_remembered(result))
    if len(result.ids) > 1:
        say(f"  one record for each entity: {', '.join(result.ids)}")
    if result.tags:
        say(f"  tags: {', '.join(result.tags)}")
    if result.flags:
        say(f"  marked as {', '.join(result.flags)}")
    reported = {conflict.other.id for conflict in result.conflicts}
    for similar in result.similar:
        if similar.id not in reported:
            say(f"  {_describe_similar(similar, merged_into=result.merged_into)}")
    _show_conflicts(result.conflicts)
    if result.suggested_entities and result.action == "created":
        say(f"  it seems to be about {', '.join(result.suggested_entities)}: --entity files it under them")
    say_warnings(result.warnings)


def _summarize_remembered(result: Remembered) -> str:
    if result.action == "rejected":
        why = result.trace[-1].why if result.trace and not result.warnings else ""
        return "rejected: nothing was stored" + (f" ({why})" if why else "")
    if result.action != "merged":
        return f"{result.action} {result.name} ({result.id or 'dry run'}), version {result.version}"
    similarity = "" if result.similarity is None else f", similarity {result.similarity:.2f}"
    return f"merged into {result.name} ({result.merged_into}), version {result.version}{similarity}"


def _describe_similar(similar: Similar, *, merged_into: str) -> str:
    if similar.id == merged_into:
        return f"may contradict the earlier text ({similar.differs}): revise the memory if it is out of date"
    doubt = f": may contradict it ({similar.differs}); revise or forget the outdated memory" if similar.differs else ""
    whose = f", {similar.mark}" if similar.mark else ""
    return f"similar to {similar.name} ({similar.id}{whose}), {similar.similarity:.2f}{doubt}"


def _show_recalled(result: Recalled) -> None:
    for hit in result.pinned:
        _show_hit(hit, mark="*")
    if result.nothing_relevant:
        say("nothing relevant" + ("; the nearest:" if result.hits else ""))
    for number, hit in enumerate(result.hits, start=1):
        _show_hit(hit, mark=str(number))
    if not result.hits and not result.pinned and not result.nothing_relevant:
        say("nothing found")
    for note in (*result.notes, *result.degraded):
        say(f"note: {note}")
    if result.cursor:
        say(f"more: --cursor {result.cursor}")


def _show_table(result: MemoryTable) -> None:
    if not result.hits:
        say("there are no memories")
        return
    names = [shorten(hit.name, limit=_MAX_NAME) for hit in result.hits]
    width = max(map(len, names))
    for hit, name in zip(result.hits, names, strict=True):
        text = shorten(hit.passage or hit.title, limit=_MAX_STATEMENT)
        paint([(f"{hit.date.date()}  ", "dim"), (f"{name.ljust(width)}  ", "bold"), (text, "fit")])
    if result.cursor:
        say(f"more: --cursor {result.cursor}")


def _show_hit(hit: Hit, *, mark: str) -> None:
    entities = f" [{', '.join(hit.entities)}]" if hit.entities else ""
    branch = f" (branch {hit.branch})" if hit.branch != MAIN else ""
    marks = (project_mark(hit.project), hit.mark, hit.outdated, hit.disputed, "weak" if hit.weak else "")
    about = ", ".join(part for part in marks if part)
    whose = f"  ({about})" if about else ""
    about_hit = f"{entities}{branch}  {hit.date.date()}  {hit.score:.2f}{whose}"
    paint([(f"{mark}. ", ""), (hit.title or hit.name, "bold"), (about_hit, "")])
    say(f"   {' '.join(hit.passage.split())}" + (f" ({hit.before})" if hit.before else ""))
    paint([(f"   {hit.id}" + (f"  ({'; '.join(hit.why)})" if hit.why else ""), "dim")])
    for neighbour in hit.around:
        passage = " ".join(neighbour.passage.split())
        whose = f"({neighbour.mark}) " if neighbour.mark else ""
        say(f"   {neighbour.place:+5}  {neighbour.date.date()}  {whose}{passage}  {neighbour.id}")


def _show_read(result: ReadResult) -> None:
    if result.texts:
        say("\n".join(result.texts))
    _show_missing(result.missing)


def _show_written(result: Written) -> None:
    say(f"{result.action} {result.name} ({result.id}), version {result.version}{_of_branch(result)}")
    _show_conflicts(result.conflicts)
    say_warnings(result.warnings)


def _of_branch(result: Written) -> str:
    return f" of branch {result.branch}" if result.branch != MAIN else ""


def _show_outcome(result: Outcome) -> None:
    would = "would be " if result.dry_run else ""
    for written in result.done:
        say(f"{would}{written.action} {written.name} ({written.id}){_of_branch(written)}")
        _show_conflicts(written.conflicts)
        say_warnings(written.warnings)
    if not result.done and not result.missing:
        say("nothing to do")
    _show_missing(result.missing)


def _show_missing(references: tuple[Missing, ...]) -> None:
    for missing in references:
        ref = missing.ref[:100]
        if missing.why:
            say(f"Cannot read {ref!r}: {missing.why}. Run `scrubjay history {ref}` to see its versions.")
        elif missing.suggestions:
            say(f"No memory is called {ref!r}. Did you mean {' or '.join(missing.suggestions)}?")
        else:
            say(f"No memory is called {ref!r}. Run `scrubjay recall` with a few words to find its name.")


def _show_branch_merge(result: BranchMerged) -> None:
    show_merge(result)
    _show_conflicts(result.conflicts)


def _show_related(result: Related) -> None:
    say(f"{result.action} {result.source_name} -> {result.target_name}")
    for name, links in ((result.source_name, result.source_links), (result.target_name, result.target_links)):
        types = ", ".join(sorted({link.type for link in links})) or "none"
        say(f"  {name} has {_count(len(links), 'relation')}: {types}")


def _show_conflicts(conflicts: tuple[ConflictDetails, ...]) -> None:
    for conflict in conflicts:
        differences = f" ({', '.join(conflict.differs)})" if conflict.differs else ""
        statement = " ".join(conflict.other.statement.split())
        if conflict.status is ConflictStatus.RESOLVED:
            say(f"  supersedes {conflict.other.name}{differences}: {statement}")
            say("    `scrubjay undo` takes this back")
            continue
        say(f"  {conflict.type.value} of {conflict.other.name}{differences}: {statement}")
        say(f"    suggested: {conflict.suggested_action.value} [{conflict.id}]")


def _show_context(result: Context) -> None:
    say(result.text or "\n".join(result.left_out))


def _show_due(result: DueReminders) -> None:
    for reminder in result.reminders:
        whose = f" ({reminder.mark})" if reminder.mark else ""
        say(f"{reminder.remind_at.date().isoformat()}  {reminder.name}{whose}: {reminder.text}")
    if result.more:
        say(_MORE)
    if not result.reminders:
        say("no reminder is due")


def _show_summary(result: Summary) -> None:
    say(result.text or "there is nothing to summarize")
    if result.more:
        say(f"of the latest {result.memories:,} memories: there are more")
    say_warnings(result.degraded)


def _show_usage(result: Usage) -> None:
    if not result.counted:
        say("questions are not counted: SCRUBJAY_USAGE is off")
    questions = f"asked {_times(result.recalls)}, {_times(result.nothing_relevant)} without an answer"
    say(f"since {result.since}: {questions}; {result.reads:,} memories read")
    for day in result.days:
        say(f"  {day.date}  asked {day.recalls:,}, unanswered {day.nothing_relevant:,}, read {day.reads:,}")
    for title, lines in (
        ("most asked", [
            f"{question.count:,} {question.text}"
            + (f" (nothing relevant {_times(question.nothing_relevant)})" if question.nothing_relevant else "")
            for question in result.questions
        ]),
        ("most used", [f"{memory.name}: found {memory.found:,}, read {memory.read:,}" for memory in result.memories]),
        (f"never read: {result.never_read_count:,}", [
            f"{memory.name}, since {memory.created_at.date().isoformat()}" for memory in result.never_read
        ]),
    ):  # fmt: skip
        if lines:
            say("")
            say(title)
            for line in lines:
                say(f"  {line}")


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _show_undone(result: Undone) -> None:
    for written in result.done:
        say(f"undone {written.name} ({written.id}), now version {written.version}{_of_branch(written)}")
    for reason in result.skipped:
        say(f"skipped: {reason}")
    if not result.done and not result.skipped:
        say(f"undone run {result.run}, which had changed no memory, only relations")


def _show_code(result: CodeResult) -> None:
    if result.stdout:
        say(result.stdout.rstrip("\n"))
    if result.success:
        text = result.result if isinstance(result.result, str) else json.dumps(result.result, ensure_ascii=False)
        say(text)
    else:
        say(f"line {result.line}: {result.error}" if result.line else result.error)
    if result.hint:
        say(f"  {result.hint}")
    if result.next is not None:
        say(f"  {result.next:,} of {result.total:,}; --handle {result.handle} --offset {result.next} reads on")
    if result.run:
        say(f"  scrubjay undo --run {result.run} takes its changes back")


def _show_status(result: Status) -> None:
    counts = {name: value for name, value in result.daemon.items() if isinstance(value, int)}
    addresses = {name: value for name, value in result.daemon.items() if isinstance(value, str)}
    rows: list[tuple[str, object]] = [
        ("space", result.space),
        ("data", result.data),
        ("memories", _list_values(result.memories) or "none"),
        ("tiers", _list_tiers(result) or "none"),
        ("versions", result.versions),
        ("relations", result.relations),
        ("curation", _list_values(result.curation) or "not yet"),
        *([("skills", _list_values(result.skills))] if result.skills else ()),
        ("store", _list_values(result.store)),
        ("bodies", f"{result.compression['saved']:.0%} smaller than plain JSON"),
        ("embedding", _list_values(result.embedding)),
        ("index", _list_values(result.index)),
        *((("notes", _list_values(result.vault)),) if result.vault else ()),
        ("llm", _list_values(result.llm) or "off"),
        ("code", _list_values(result.code) or "off"),
        ("daemon", _list_values(counts) or "not running; this command opened the store"),
        *addresses.items(),
        *([("address", "no HTTP; `scrubjay serve` adds it")] if counts and "address" not in addresses else ()),
        ("scrubjay", result.version),
    ]
    for name, value in rows:
        say(f"{name:<9}  {value}")
    for note in result.degraded:
        say(f"note: {note}")


def _list_tiers(result: Status) -> str:
    flow = ", ".join(f"{count:,} {step}" for step, count in result.tier_flow.items())
    return _list_values(result.tiers) + (f" (in 30 days: {flow})" if flow else "")


def _list_values(values: dict[str, T]) -> str:
    """Return names and values on one line; a flag that is set is its name alone."""
    shown = {name: value for name, value in values.items() if value not in ("", False)}
    return ", ".join(name if value is True else f"{name} {value}" for name, value in shown.items())


def _show_doctor_report(result: DoctorReport) -> None:
    for check in result.checks:
        mark = ("ok  ", "green") if check.ok else ("FAIL", "red")
        paint([mark, (f" {check.name}: {check.detail}", "")])
        if check.fix:
            say(f"     {check.fix}")


def _show_imported(result: Imported) -> None:
    say(f"imported {result.imported} memories and {result.relations} relations; {result.known} existed already")
    for renaming in result.renamed:
        say(f"  renamed {renaming}")
    for duplicate in result.duplicates:
        say(f"  duplicate, stored once: {duplicate}")


def _show_rules(result: Rules) -> None:
    defaults = Rules().as_json
    for name, value in result.as_json.items():
        text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        say(f"{'*' if value != defaults[name] else ' '} {name:<16}  {text}".rstrip())


def _show_extracted(result: Extracted) -> None:
    """Print the facts as a table, and the action taken on each."""
    if result.facts:
        paint_table(("type", "speaker", "sure", "done", "statement"), [_fact_row(fact) for fact in result.facts])
    actions = Counter(fact.action for fact in result.facts if fact.action)
    summary = ", ".join(f"{count} {action}" for action, count in actions.items()) or "nothing stored"
    say(f"{_count(len(result.facts), 'fact')} in {_count(result.turns, 'turn')}, by {result.method}: {summary}")
    for fact in result.facts:
        for conflict in fact.conflicts:
            say(f"  conflict {conflict.id}: {conflict.memory.statement} | {conflict.other.statement}")
    if result.run and actions.keys() & {"created", "merged", "updated"}:
        say(f"  session {result.session}; scrubjay undo --run {result.run} takes it back")
    for warning in result.warnings:
        say(f"  warning: {warning}")


def _fact_row(stored: StoredFact) -> list[Span]:
    fact = stored.fact
    return [
        (fact.type.value, ""),
        (fact.speaker or "-", ""),
        (f"{fact.confidence:.2f}", ""),
        (stored.action or "-", _ACTION_STYLES.get(stored.action, "")),
        (shorten(fact.statement.removeprefix(f"{fact.speaker}: "), limit=_MAX_STATEMENT), ""),
    ]


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


@dataclass(frozen=True, slots=True)
class _Branch:
    """A memory in the tree, and the relation that leads to it."""

    relation: Relation
    node: NetworkNode
    is_outward: bool


def _show_tree(tree: RelationTree) -> None:
    """Print a tree with each memory once, and list the other relations at the end."""
    below, others = _build_branches(tree)
    for node in tree.nodes:
        if node.distance == 0:
            paint(_node_spans(node))
            for lead, branch in _walk_branches(node.id, below):
                arrow = _relation_spans(branch.relation, is_outward=branch.is_outward)
                paint([(lead, "dim"), *arrow, *_node_spans(branch.node)])
    names = {node.id: node.name for node in tree.nodes}
    if others:
        say("also:")
    for relation in others:
        arrow = _relation_spans(relation, is_outward=True)
        paint([("  ", ""), (names[relation.source], ""), *arrow, (names[relation.target], "")])
    if len(tree.nodes) == 1 and not tree.edges:
        say("nothing is related to it")
    if tree.truncated:
        say(_MORE)
    if tree.suggested:
        say("near it by meaning, and not related:")
    for suggestion in tree.suggested:
        title = f" {suggestion.title}" if suggestion.title else ""
        say(f"  {suggestion.similarity:.2f}  {suggestion.name}  ({suggestion.kind}){title}")


def _build_branches(network: Network) -> tuple[dict[str, list[_Branch]], list[Relation]]:
    """Return the branches below each memory, and the relations that are not part of the tree."""
    nodes = {node.id: node for node in network.nodes}
    below: dict[str, list[_Branch]] = {}
    placed = {node.id for node in network.nodes if node.distance == 0}
    others: list[Relation] = []
    for relation in sorted(
        network.edges, key=lambda edge: min(nodes[edge.source].distance, nodes[edge.target].distance)
    ):
        source, target = nodes[relation.source], nodes[relation.target]
        is_outward = source.distance <= target.distance
        above, node = (source, target) if is_outward else (target, source)
        if node.id in placed or above.distance == node.distance:
            others.append(relation)
        else:
            placed.add(node.id)
            below.setdefault(above.id, []).append(_Branch(relation, node, is_outward))
    return below, others


def _walk_branches(memory_id: str, below: dict[str, list[_Branch]], *, lead: str = "") -> Iterator[tuple[str, _Branch]]:
    branches = below.get(memory_id, [])
    for number, branch in enumerate(branches, start=1):
        is_last = number == len(branches)
        yield lead + ("└─ " if is_last else "├─ "), branch
        yield from _walk_branches(branch.node.id, below, lead=lead + ("   " if is_last else "│  "))


def _show_path(path: RelationPath) -> None:
    if not path.nodes:
        say(_NO_PATH_FOUND if path.truncated else _NO_PATH)
        return
    paint(_node_spans(path.nodes[0]))
    for before, relation, node in zip(path.nodes, path.edges, path.nodes[1:], strict=False):
        is_outward = relation.source == before.id
        paint([("  ", ""), *_relation_spans(relation, is_outward=is_outward), *_node_spans(node)])


def _node_spans(node: NetworkNode) -> list[Span]:
    title = f"  {node.title}" if node.title and node.title != node.name else ""
    pinned = " *" if node.pinned else ""
    whose = f"  ({node.mark})" if node.mark else ""
    return [(node.name, "bold"), (f"{pinned}  ({node.kind}){title}{whose}", ""), (f"  {node.id}", "dim")]


def _relation_spans(relation: Relation, *, is_outward: bool) -> list[Span]:
    if relation.type == LINK:
        return [(" ↔ ", "cyan")]
    return [(f" {relation.type} → " if is_outward else f" ← {relation.type} ", "cyan")]


_PRINTERS: list[tuple[type, Callable[..., None]]] = [
    (Remembered, _show_remembered),
    (Recalled, _show_recalled),
    (MemoryTable, _show_table),
    (ReadResult, _show_read),
    (Written, _show_written),
    (Outcome, _show_outcome),
    (Related, _show_related),
    (RelationTree, _show_tree),
    (RelationPath, _show_path),
    (History, show_history),
    (Branches, show_branches),
    (BranchMerged, _show_branch_merge),
    (Context, _show_context),
    (DueReminders, _show_due),
    (Summary, _show_summary),
    (Usage, _show_usage),
    (Extracted, _show_extracted),
    (Undone, _show_undone),
    (CodeResult, _show_code),
    (Status, _show_status),
    (HealthReport, show_health),
    (HealthCheck, show_health_check),
    (DoctorReport, _show_doctor_report),
    (Imported, _show_imported),
    (Rules, _show_rules),
]
