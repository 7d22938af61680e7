"""The measurements as tables for the terminal and for a Markdown page, and the check of the targets."""

from collections.abc import Callable, Iterator, Sequence

from benchmarks.figures import Measured, Reference, Results
from benchmarks.serving_report import serving_checks, serving_facts, serving_tables
from benchmarks.tables import Check, Table, at_most, both, ms, rows_of
from benchmarks.timing import Spread

MAX_WRITE_MS = 5.0
MAX_WRITE_GROWTH = 2.0
MAX_RECALL_MS = 10.0
MAX_SCRAPE_MS = 10.0
MAX_MANY, MAX_GATHERED, MAX_ENTITIES = 1.3, 1.5, 1.5
MAX_FOLDER_MB, FOLDER_AIM_MB = 330, 300
# How many times as fast as the reference server, embedding included.
MIN_SEARCHING = {1_000: 0.35, 10_000: 2.7, 100_000: 30.0}
MIN_CREATING = {1_000: 0.8, 10_000: 5.0, 100_000: 50.0}
MIN_SAVING = 0.60
# Above this ratio, differences between sizes reflect the machine more than the sizes.
UNSTEADY = 1.25
_FULL_SIZE = 100_000
_MB = 1_000_000


def tables(results: Results) -> tuple[Table, ...]:
    """Return all tables of a run."""
    sizes = results.sizes
    makers = [("Writing and asking", _speed), ("Filling and opening", _bulk), ("Size and memory", _weight)]
    all_tables = [_table(title, sizes, rows) for title, rows in makers]
    compared = [measured for measured in sizes if measured.reference]
    if compared:
        all_tables.append(_table("Compared with the reference knowledge-graph server", compared, _reference))
    if results.serving is not None:
        all_tables += serving_tables(results.serving)
    return tuple(all_tables)


def facts(results: Results) -> tuple[str, ...]:
    """Return the facts about the whole run, one line each."""
    probe, sharing = results.sizes[0].probe, results.sharing
    return (
        f"Scrubjay {results.version} on {results.machine}",
        f"Memories: {results.corpus}",
        f"Model: {results.model}; {results.embedded_per_second:.0f} texts a second in batches",
        (
            f"p50 / p95 over {probe.remember.count} remembers and {probe.recall.count} recalls ("
            f"{probe.recall_filtered['1 %'].count} with each filter), sequential, after a warm-up and a pause"
        ),
        "Reader and pair model, the two that read two texts, are off but where a row names them",
        (
            f"Group commit: {sharing.writes} sequential remembers {sharing.alone_per_second:,.0f} a second, concurrent "
            f"ones {sharing.together_per_second:,.0f} a second, {sharing.writes_per_commit:.0f} writes to a commit"
        ),
        *(serving_facts(results.serving) if results.serving is not None else ()),
        *_bulk_facts(results),
        *_watching(results),
        *_steadiness(results),
        *results.notes,
    )


def checks(results: Results) -> tuple[Check, ...]:
    """Return the targets, and whether this run meets them."""
    first, last = results.sizes[0], results.sizes[-1]
    growth = last.probe.remember_rest.p50 / first.probe.remember_rest.p50
    at = f"at {last.size:,}"
    targets = [
        at_most("store and index a memory, p50", size.probe.remember_rest.p50, MAX_WRITE_MS, f"ms at {size.size:,}")
        for size in results.sizes
    ]
    if last is not first:
        targets.append(at_most(f"its growth from {first.size:,} to {last.size:,}", growth, MAX_WRITE_GROWTH, "times"))
    targets.append(at_most("recall without embedding, p50", last.probe.recall_rest.p50, MAX_RECALL_MS, f"ms {at}"))
    saving = _saving(last)
    targets.append(
        (f"bodies compared with JSON: {saving:.0%} smaller {at}, at least {MIN_SAVING:.0%}", saving >= MIN_SAVING)
    )
    if last.size >= _FULL_SIZE:
        folder = (last.sizes.store + last.sizes.index) / _MB
        targets.append(at_most("data folder", folder, MAX_FOLDER_MB, f"MB {at}"))
        targets.append(at_most("data folder, as aimed for", folder, FOLDER_AIM_MB, f"MB {at}"))
    for measured in results.sizes:
        targets += _compared(measured)
    if results.serving is not None:
        targets += serving_checks(results.serving)
    if (bulk := results.bulk) is not None:
        targets += [
            at_most("remember_many compared with embedding alone", bulk.many / bulk.embedding, MAX_MANY, "times"),
            at_most("concurrent remembers likewise", bulk.gathered / bulk.embedding, MAX_GATHERED, "times"),
            at_most("create_entities likewise", bulk.entities / bulk.entities_embedding, MAX_ENTITIES, "times"),
            at_most(
                "create_entities of `kg` likewise", bulk.graph_entities / bulk.entities_embedding, MAX_ENTITIES, "times"
            ),
        ]
    if results.watching is not None:
        targets.append(at_most("a scrape of the metrics, p50", results.watching.scrape.p50, MAX_SCRAPE_MS, "ms"))
    return tuple(targets)


def markdown(results: Results) -> str:
    """Return the run as a fragment of a page."""
    lines = [f"- {fact}" for fact in facts(results)]
    for table in tables(results):
        lines += ["", f"### {table.title}", "", *rows_of(table)]
    lines += ["", "### Targets", ""]
    lines += [f"- {'met' if is_met else '**missed**'}: {target}" for target, is_met in checks(results)]
    return "\n".join(lines) + "\n"


Row = tuple[str, Callable[[Measured], str]]


def _table(title: str, sizes: Sequence[Measured], rows: Sequence[Row]) -> Table:
    return Table(
        title=title,
        head=("", *(f"{measured.size:,}" for measured in sizes)),
        rows=tuple((name, *(show(measured) for measured in sizes)) for name, show in rows),
    )


def _bulk_facts(results: Results) -> tuple[str, ...]:
    if (bulk := results.bulk) is None:
        return ()
    return (
        (
            f"{bulk.texts:,} texts: embedding alone {bulk.embedding:.1f} s, remember_many {bulk.many:.1f} s, "
            f"concurrent remembers {bulk.gathered:.1f} s; ten entities: embedding alone "
            f"{bulk.entities_embedding * 1000:.0f} ms, create_entities {bulk.entities * 1000:.0f} ms, "
            f"that of `kg` {bulk.graph_entities * 1000:.0f} ms"
        ),
    )


def _watching(results: Results) -> tuple[str, ...]:
    if (watching := results.watching) is None:
        return ()
    scrape = f"a scrape of {watching.lines:,} lines of metrics {both(watching.scrape)} ms"
    share = watching.recall_adds / watching.recall
    adds = f"counting adds {watching.recall_adds * 1000:.0f} µs to a recall ({share:+.1%})"
    return (f"Observability: {scrape}; {adds}",)


def _steadiness(results: Results) -> tuple[str, ...]:
    """Compare the embedding times, which differ between sizes only if the machine was busy."""
    warnings: list[str] = []
    for name, times in (
        ("sentences", [size.probe.remember_embedding.p50 for size in results.sizes]),
        ("questions", [size.probe.recall_embedding.p50 for size in results.sizes]),
    ):
        if max(times) > min(times) * UNSTEADY:
            shown = ", ".join(ms(time) for time in times)
            warnings.append(
                f"The machine was not steady: embedding the same {name} took {shown} ms (p50) at these sizes, which "
                "does not depend on the store; do not compare the columns more closely than that"
            )
    return tuple(warnings)


def _saving(measured: Measured) -> float:
    return 1 - measured.sizes.body_stored / measured.sizes.body_json


def _times(theirs: Spread, ours: Spread) -> str:
    return f"{theirs.p50 / ours.p50:.2f}"


def _compared(measured: Measured) -> Iterator[Check]:
    if (there := measured.reference) is None or measured.size not in MIN_SEARCHING:
        return
    for what, theirs, ours, least in (
        ("searching", there.search, measured.probe.recall, MIN_SEARCHING[measured.size]),
        ("creating", there.create, measured.probe.remember, MIN_CREATING[measured.size]),
    ):
        times = theirs.p50 / ours.p50
        name = f"{what} at {measured.size:,}: {times:.2f} times as fast as the reference server, at least {least:g}"
        yield name, times >= least


_speed: list[Row] = [
    ("remember, ms", lambda measured: both(measured.probe.remember)),
    ("- embedding", lambda measured: both(measured.probe.remember_embedding)),
    ("- store and index", lambda measured: both(measured.probe.remember_rest)),
    ("- with the pair model", lambda measured: both(measured.with_readers.remember)),
    ("recall, ms", lambda measured: both(measured.probe.recall)),
    ("- embedding", lambda measured: both(measured.probe.recall_embedding)),
    ("- with the reader", lambda measured: both(measured.with_readers.recall)),
    ("recall without embedding, ms", lambda measured: both(measured.probe.recall_rest)),
    ("- filter that 1 % pass", lambda measured: both(measured.probe.recall_filtered["1 %"])),
    ("- filter that 14 % pass", lambda measured: both(measured.probe.recall_filtered["14 %"])),
    ("- filter that all pass", lambda measured: both(measured.probe.recall_filtered["100 %"])),
    ("index finds, of the 10 nearest", lambda measured: f"{measured.nearness.at_10:.1%}"),
    ("- of the 100 nearest", lambda measured: f"{measured.nearness.at_100:.1%}"),
    ("- of the 10 nearest that pass 14 %", lambda measured: f"{measured.nearness.filtered_at_10:.1%}"),
]
_bulk: list[Row] = [
    ("import without embedding, memories/s", lambda measured: f"{measured.filling.imported_per_second:,.0f}"),
    ("export, memories/s", lambda measured: f"{measured.filling.exported_per_second:,.0f}"),
    ("64 concurrent remembers, memories/s", lambda measured: f"{measured.filling.remembered_per_second:,.0f}"),
    ("building the vector index, s", lambda measured: f"{measured.filling.index_seconds:.1f}"),
    ("opening the store, ms", lambda measured: ms(measured.probe.open_store)),
    ("first recall after that, ms", lambda measured: ms(measured.probe.first_recall)),
    ("- loading the model and embedding", lambda measured: ms(measured.probe.first_recall_embedding)),
]
_weight: list[Row] = [
    ("data folder, MB", lambda measured: f"{(measured.sizes.store + measured.sizes.index) / _MB:.1f}"),
    ("- store, with vectors", lambda measured: f"{measured.sizes.store / _MB:.1f}"),
    ("- vector index", lambda measured: f"{measured.sizes.index / _MB:.1f}"),
    ("bodies as JSON, MB", lambda measured: f"{measured.sizes.body_json / _MB:.2f}"),
    ("- as stored", lambda measured: f"{measured.sizes.body_stored / _MB:.2f} (-{_saving(measured):.0%})"),
    (
        "- as pickle + zlib",
        lambda size: f"{size.sizes.body_pickled / _MB:.2f} (-{1 - size.sizes.body_pickled / size.sizes.body_json:.0%})",
    ),
    ("resident memory, store open, MB", lambda measured: f"{measured.probe.resident_open:.0f}"),
    ("- model and index loaded", lambda measured: f"{measured.probe.resident_loaded:.0f}"),
    ("- after all recalls", lambda measured: f"{measured.probe.resident_after:.0f}"),
]


_reference: list[Row] = [
    ("create_entities there, ms", lambda measured: both(_there(measured).create)),
    ("- times remember here", lambda measured: _times(_there(measured).create, measured.probe.remember)),
    (
        "- times remember here with the pair model",
        lambda measured: _times(_there(measured).create, measured.with_readers.remember),
    ),
    (
        "- times remember here without embedding",
        lambda measured: _times(_there(measured).create, measured.probe.remember_rest),
    ),
    ("search_nodes there, ms", lambda measured: both(_there(measured).search)),
    ("- times recall here", lambda measured: _times(_there(measured).search, measured.probe.recall)),
    (
        "- times recall here with the reader",
        lambda measured: _times(_there(measured).search, measured.with_readers.recall),
    ),
    (
        "- times recall here without embedding",
        lambda measured: _times(_there(measured).search, measured.probe.recall_rest),
    ),
]


def _there(measured: Measured) -> Reference:
    assert measured.reference is not None
    return measured.reference
