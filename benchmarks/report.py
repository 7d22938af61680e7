"""What was measured, as tables for the terminal and for a Markdown page, and whether the promises are kept."""

from collections.abc import Callable, Sequence

from benchmarks.figures import Measured, Reference, Results
from benchmarks.serving_report import serving_facts, serving_tables, serving_verdicts
from benchmarks.tables import Table, Verdict, at_most, both, ms, rows_of
from benchmarks.timing import Spread

MOST_WRITE_MS = 5.0
MOST_WRITE_GROWTH = 2.0
MOST_RECALL_MS = 10.0
MOST_SCRAPE_MS = 10.0
MOST_FOLDER_MB, FOLDER_AIM_MB = 500, 300
LEAST_SAVING = 0.60
# From this ratio on, times at different sizes say more about the machine than about the sizes.
UNSTEADY = 1.25
_FULL_SIZE = 100_000
_MB = 1_000_000


def tables(results: Results) -> tuple[Table, ...]:
    """All tables of a run."""
    measured = results.sizes
    makers = [("Writing and asking", _speed), ("Filling and opening", _bulk), ("Size and memory", _weight)]
    matches = [_table(title, measured, rows) for title, rows in makers]
    compared = [item for item in measured if item.reference]
    if compared:
        matches.append(_table("Beside the reference knowledge-graph server", compared, _reference))
    if results.serving is not None:
        matches += serving_tables(results.serving)
    return tuple(matches)


def facts(results: Results) -> tuple[str, ...]:
    """What holds for the whole run, a line each."""
    probe, sharing = results.sizes[0].probe, results.sharing
    return (
        f"Scrubjay {results.version} on {results.machine}",
        f"Memories: {results.corpus}",
        f"Model: {results.model}; {results.embedded_per_second:.0f} texts a second in batches",
        (
            f"p50 / p95 over {probe.remember.count} remembers and {probe.recall.count} recalls ("
            f"{probe.recall_filtered['1 %'].count} with each filter), one by one, warmed up"
        ),
        (
            f"Group commit: {sharing.writes} remembers one by one {sharing.alone_per_second:,.0f} a second, all "
            f"at once {sharing.together_per_second:,.0f} a second, {sharing.writes_per_commit:.0f} writes to a commit"
        ),
        *(serving_facts(results.serving) if results.serving is not None else ()),
        *_watching(results),
        *_steadiness(results),
        *results.notes,
    )


def verdicts(results: Results) -> tuple[Verdict, ...]:
    """The promises, and whether this run keeps them."""
    first, last = results.sizes[0], results.sizes[-1]
    growth = last.probe.remember_rest.p50 / first.probe.remember_rest.p50
    at = f"at {last.size:,}"
    matches = [
        at_most("store and index a memory, p50", size.probe.remember_rest.p50, MOST_WRITE_MS, f"ms at {size.size:,}")
        for size in results.sizes
    ]
    if last is not first:
        matches.append(at_most(f"its growth from {first.size:,} to {last.size:,}", growth, MOST_WRITE_GROWTH, "times"))
    matches.append(at_most("recall without embedding, p50", last.probe.recall_rest.p50, MOST_RECALL_MS, f"ms {at}"))
    saving = _saving(last)
    matches.append(
        (f"bodies beside JSON: {saving:.0%} smaller {at}, {LEAST_SAVING:.0%} at least", saving >= LEAST_SAVING)
    )
    if last.size >= _FULL_SIZE:
        folder = (last.sizes.store + last.sizes.index) / _MB
        matches.append(at_most("data folder", folder, MOST_FOLDER_MB, f"MB {at}"))
        matches.append(at_most("data folder, as aimed for", folder, FOLDER_AIM_MB, f"MB {at}"))
    if results.serving is not None:
        matches += serving_verdicts(results.serving)
    if results.watching is not None:
        matches.append(at_most("a scrape of the metrics, p50", results.watching.scrape.p50, MOST_SCRAPE_MS, "ms"))
    return tuple(matches)


def markdown(results: Results) -> str:
    """The run as a fragment of a page."""
    lines = [f"- {fact}" for fact in facts(results)]
    for table in tables(results):
        lines += ["", f"### {table.title}", "", *rows_of(table)]
    lines += ["", "### Promises", ""]
    lines += [f"- {'kept' if stored else '**missed**'}: {promise}" for promise, stored in verdicts(results)]
    return "\n".join(lines) + "\n"


Row = tuple[str, Callable[[Measured], str]]


def _table(title: str, measured: Sequence[Measured], rows: Sequence[Row]) -> Table:
    return Table(
        title=title,
        head=("", *(f"{item.size:,}" for item in measured)),
        rows=tuple((name, *(show(item) for item in measured)) for name, show in rows),
    )


def _watching(results: Results) -> tuple[str, ...]:
    if (item := results.watching) is None:
        return ()
    scrape = f"a scrape of {item.lines:,} lines of metrics {both(item.scrape)} ms"
    adds = f"counting adds {item.recall_adds * 1000:.0f} µs to a recall ({item.recall_adds / item.recall:+.1%})"
    return (f"Watching: {scrape}; {adds}",)


def _steadiness(results: Results) -> tuple[str, ...]:
    """Embedding the same texts takes the same at every size: what differs is how busy the machine was."""
    matches: list[str] = []
    for name, times in (
        ("sentences", [size.probe.remember_embedding.p50 for size in results.sizes]),
        ("questions", [size.probe.recall_embedding.p50 for size in results.sizes]),
    ):
        if max(times) > min(times) * UNSTEADY:
            shown = ", ".join(ms(time) for time in times)
            matches.append(
                f"Not a steady machine: embedding the same {name} took {shown} ms (p50) at these sizes, which has "
                "nothing to do with the store; do not compare the columns more closely than that"
            )
    return tuple(matches)


def _saving(one: Measured) -> float:
    return 1 - one.sizes.body_stored / one.sizes.body_json


def _times(theirs: Spread, ours: Spread) -> str:
    return f"{theirs.p50 / ours.p50:.1f}"


_speed: list[Row] = [
    ("remember, ms", lambda one: both(one.probe.remember)),
    ("- embedding", lambda one: both(one.probe.remember_embedding)),
    ("- store and index", lambda one: both(one.probe.remember_rest)),
    ("recall, ms", lambda one: both(one.probe.recall)),
    ("- embedding", lambda one: both(one.probe.recall_embedding)),
    ("recall without embedding, ms", lambda one: both(one.probe.recall_rest)),
    ("- filter that 1 % pass", lambda one: both(one.probe.recall_filtered["1 %"])),
    ("- filter that 14 % pass", lambda one: both(one.probe.recall_filtered["14 %"])),
    ("- filter that all pass", lambda one: both(one.probe.recall_filtered["100 %"])),
    ("index finds, of the 10 nearest", lambda one: f"{one.nearness.at_10:.1%}"),
    ("- of the 100 nearest", lambda one: f"{one.nearness.at_100:.1%}"),
    ("- of the 10 nearest that pass 14 %", lambda one: f"{one.nearness.filtered_at_10:.1%}"),
]
_bulk: list[Row] = [
    ("import without embedding, memories/s", lambda one: f"{one.filling.imported_per_second:,.0f}"),
    ("export, memories/s", lambda one: f"{one.filling.exported_per_second:,.0f}"),
    ("64 remembering at once, memories/s", lambda one: f"{one.filling.remembered_per_second:,.0f}"),
    ("building the vector index, s", lambda one: f"{one.filling.index_seconds:.1f}"),
    ("opening the store, ms", lambda one: ms(one.probe.open_store)),
    ("first recall after that, ms", lambda one: ms(one.probe.first_recall)),
    ("- loading the model and embedding", lambda one: ms(one.probe.first_recall_embedding)),
]
_weight: list[Row] = [
    ("data folder, MB", lambda one: f"{(one.sizes.store + one.sizes.index) / _MB:.1f}"),
    ("- store, with vectors", lambda one: f"{one.sizes.store / _MB:.1f}"),
    ("- vector index", lambda one: f"{one.sizes.index / _MB:.1f}"),
    ("bodies as JSON, MB", lambda one: f"{one.sizes.body_json / _MB:.2f}"),
    ("- as stored", lambda one: f"{one.sizes.body_stored / _MB:.2f} (-{_saving(one):.0%})"),
    (
        "- as pickle + zlib",
        lambda one: f"{one.sizes.body_pickled / _MB:.2f} (-{1 - one.sizes.body_pickled / one.sizes.body_json:.0%})",
    ),
    ("resident memory, store open, MB", lambda one: f"{one.probe.resident_open:.0f}"),
    ("- model and index loaded", lambda one: f"{one.probe.resident_loaded:.0f}"),
    ("- after all recalls", lambda one: f"{one.probe.resident_after:.0f}"),
]


_reference: list[Row] = [
    ("create_entities there, ms", lambda one: both(_there(one).create)),
    ("- times remember here", lambda one: _times(_there(one).create, one.probe.remember)),
    ("- times remember here without embedding", lambda one: _times(_there(one).create, one.probe.remember_rest)),
    ("search_nodes there, ms", lambda one: both(_there(one).search)),
    ("- times recall here", lambda one: _times(_there(one).search, one.probe.recall)),
    ("- times recall here without embedding", lambda one: _times(_there(one).search, one.probe.recall_rest)),
]


def _there(one: Measured) -> Reference:
    assert one.reference is not None
    return one.reference
