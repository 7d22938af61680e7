"""Import and export of `memory.jsonl`."""

import json
from collections.abc import Iterable

import pytest
from tests.unit.graph.graph_world import GraphHarness, link

from scrubjay.errors import InvalidInput, TooLarge
from scrubjay.graph.entity import Entity, EntityRelation
from scrubjay.graph.jsonl import entity_line, is_graph, parse_line, relation_line, require_format
from scrubjay.graph.transfer import export_graph, import_graph
from scrubjay.model.draft import Limits
from scrubjay.model.transfer import Imported
from scrubjay.ports import Progress

ADA = '{"type":"entity","name":"Ada","entityType":"person","observations":["likes tea",""]}'
BOB = '{"type":"entity","name":" Bob ","entityType":"","observations":[]}'
KNOWS = '{"type":"relation","from":"Ada","to":" Bob ","relationType":"knows"}'
LOOSE = '{"type":"relation","from":"日本","to":"Nobody","relationType":""}'


async def taken(graph_harness: GraphHarness, lines: Iterable[str], progress: Progress | None = None) -> Imported:
    inputs = list(lines)
    return await import_graph(lambda: inputs, graph=graph_harness.graph, progress=progress)


async def written(graph_harness: GraphHarness, progress: Progress | None = None) -> list[str]:
    return [line async for line in export_graph(graph_harness.graph, progress=progress)]


async def test_a_file_goes_in_and_comes_out_as_it_was(graph_harness: GraphHarness) -> None:
    lines = [ADA, BOB, KNOWS, LOOSE]
    assert await taken(graph_harness, lines) == Imported(imported=2, known=0, relations=2)
    assert await written(graph_harness) == lines
    assert await taken(graph_harness, lines) == Imported(imported=0, known=2, relations=0)


async def test_the_order_of_lines_does_not_matter_and_blank_ones_are_ignored(graph_harness: GraphHarness) -> None:
    await taken(graph_harness, ["", LOOSE, "  \n", KNOWS, BOB, ADA, ""])
    assert await written(graph_harness) == [BOB, ADA, LOOSE, KNOWS]


async def test_duplicates_are_merged_without_loss(graph_harness: GraphHarness) -> None:
    more = '{"type":"entity","name":"Ada","entityType":"x","observations":["likes tea","likes jam"]}'
    done = await taken(graph_harness, [ADA, KNOWS, more, KNOWS])
    assert done.duplicates == ("line 3: the entity Ada", "line 4: the relation Ada knows  Bob ")
    assert (done.imported, done.relations) == (1, 1)
    assert await graph_harness.entities() == [
        Entity(name="Ada", type="person", observations=("likes tea", "", "likes jam"))
    ]


async def test_existing_entities_stay_unchanged(graph_harness: GraphHarness) -> None:
    await graph_harness.graph.create_entities([Entity(name="Ada", type="mine", observations=("mine",))])
    assert (await taken(graph_harness, [ADA, BOB])).known == 1
    assert (await graph_harness.entities())[0] == Entity(name="Ada", type="mine", observations=("mine",))


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{oops", "not JSON"),
        ("[]", "neither an entity nor a relation"),
        ('{"type":"schema"}', "neither an entity nor a relation"),
        ('{"type":["entity"]}', "neither an entity nor a relation"),
        ('{"type":"entity","entityType":"t","observations":[]}', "name must be a text"),
        ('{"type":"entity","name":"a","entityType":5,"observations":[]}', "entityType must be a text"),
        ('{"type":"entity","name":"a","entityType":"t"}', "observations must be a list"),
        ('{"type":"entity","name":"a","entityType":"t","observations":["a",5]}', "observations must be a text"),
        ('{"type":"entity","name":"a\\u0000","entityType":"t","observations":[]}', "NUL"),
        ('{"type":"entity","name":"\\ud800","entityType":"t","observations":[]}', "surrogate"),
        ('{"type":"relation","from":"a","relationType":"t"}', "to must be a text"),
        ('{"type":"relation","from":"a","to":"b","relationType":"\\u0000"}', "NUL"),
        ('{"type":"relation","from":"a","to":"\\u0000","relationType":"t"}', "NUL"),
        ("[" * 100_000, "not JSON"),
    ],
)
async def test_a_bad_line_is_named_and_nothing_is_stored(graph_harness: GraphHarness, line: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=f"^line 3: .*{problem}") as caught:
        await taken(graph_harness, [ADA, "", line, KNOWS])
    assert caught.value.fields["line"] == 3
    assert await graph_harness.harness.store.last_seq() == 0


async def test_too_many_observations_after_merging_are_refused(graph_harness: GraphHarness) -> None:
    graph_harness.harness.limits = Limits(observations=3)
    lines = [
        json.dumps({"type": "entity", "name": "a", "entityType": "t", "observations": [f"{n}", f"{n}!"]})
        for n in (1, 2)
    ]
    with pytest.raises(InvalidInput, match="line 2"):
        await taken(graph_harness, lines)
    assert issubclass(TooLarge, InvalidInput)


async def test_progress_is_reported(graph_harness: GraphHarness) -> None:
    received: list[tuple[int, int]] = []
    entities = [entity_line(Entity(name=f"e{n}", type="t")) for n in range(450)]
    links = [relation_line(link("e0", f"e{n}")) for n in range(250)]
    await taken(graph_harness, [*entities, *links], lambda done, total: received.append((done, total)))
    assert received == [(200, 700), (400, 700), (450, 700), (650, 700), (700, 700)]
    received.clear()
    assert await written(graph_harness, lambda done, total: received.append((done, total))) == [*entities, *links]
    assert (received[0], received[-1], len(received)) == ((1, 450), (450, 450), 450)


async def test_vectors_are_left_for_later(graph_harness: GraphHarness) -> None:
    await taken(graph_harness, [ADA])
    assert (
        len(
            await graph_harness.harness.store.without_vectors(
                (await graph_harness.harness.embedder.profile()).model, limit=9
            )
        )
        == 1
    )


@pytest.mark.parametrize(
    ("lines", "is_ours"),
    [
        ([ADA], True),
        (["", "  ", KNOWS], True),
        ([], False),
        (['{"scrubjay": 1, "space": "default"}', ADA], False),
        (['{"type":"other"}', ADA], False),
        (["{oops"], False),
        (['"entity"'], False),
        (["[" * 100_000], False),
    ],
)
def test_a_file_is_known_by_its_first_line(lines: list[str], is_ours: bool) -> None:
    assert is_graph(lambda: lines) == is_ours


def test_fields_of_a_newer_server_are_ignored() -> None:
    line = '{"type":"entity","name":"a","entityType":"t","observations":[],"createdAt":5}'
    assert parse_line(line) == Entity(name="a", type="t")
    assert parse_line(LOOSE) == EntityRelation(source="日本", target="Nobody", type="")


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no export format 'xml'"):
        require_format("xml")
