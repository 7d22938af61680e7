"""The result of a write: whether it was merged, what may contradict it, and what to do about it."""

from dataclasses import replace
from itertools import repeat

from scrubjay.model.results import Decision, Remembered, Similar
from scrubjay.surfaces.mcp.budget import compact_json
from scrubjay.surfaces.mcp.toolsets.render import render_fields, render_remembered
from scrubjay.text.cost import estimate_tokens

CREATED = Remembered(
    action="created", id="1", ids=("1",), name="kiln", version=1, tags=("clay",),
    trace=(Decision(stage="validate", outcome="accepted"),),
)  # fmt: skip


def test_a_plain_write_is_one_line() -> None:
    result = render_remembered(CREATED, tags=["#Clay"])
    assert result.text == "created: kiln"
    assert result.structured == {"action": "created", "id": "1", "name": "kiln", "version": 1, "tags": ["clay"]}


def test_a_merge_names_the_target_and_the_similarity() -> None:
    done = replace(CREATED, action="merged", merged_into="0", similarity=0.968, version=3)
    result = render_remembered(done, tags=["clay"])
    assert result.text == "merged into kiln (0.97): now version 3"
    assert (result.structured["merged_into"], result.structured["similarity"]) == ("0", 0.968)
    itself = Similar(id="0", name="kiln", similarity=0.968, differs="before or after")
    result = render_remembered(replace(done, similar=(itself,), suggested_entities=("Sarah",)), tags=["clay"])
    assert result.text.splitlines()[1:] == [
        "may contradict what was there before: before or after. Revise kiln if something no longer holds."
    ]


def test_a_possible_conflict_names_the_next_step() -> None:
    similar = (
        Similar(id="2", name="target", similarity=0.97, differs="$2M here, $3M there"),
        Similar(id="3", name="other", similarity=0.9),
    )
    result = render_remembered(replace(CREATED, similar=similar), tags=["clay"])
    assert result.text.splitlines() == [
        "created: kiln",
        "may contradict target (0.97): $2M here, $3M there. Revise or forget what no longer holds.",
    ]
    assert result.structured["similar"] == [
        {"id": "2", "name": "target", "similarity": 0.97, "differs": "$2M here, $3M there"},
        {"id": "3", "name": "other", "similarity": 0.9},
    ]


def test_replaced_tags_entities_and_warnings_are_rendered() -> None:
    done = replace(
        CREATED, tags=("auth", "oauth"), suggested_entities=("Sarah", "Acme"), flags=("thin",), warnings=("too thin",)
    )
    result = render_remembered(done, tags=["auth-fix", "oauth"], entities="entity")
    assert result.text == "created: kiln; tags: auth, oauth; about Sarah, Acme? Give entity; too thin"
    # A tool without an argument for entities gives no advice about them.
    # Tags that the caller did not give are no news.
    assert render_remembered(done).text == "created: kiln; too thin"
    assert (result.structured["flags"], result.structured["warnings"]) == (["thin"], ["too thin"])


def test_a_refusal_says_why() -> None:
    refused = Remembered(
        action="rejected", id="", ids=(), name="", version=0,
        trace=(Decision(stage="refuse", outcome="rejected", why="the rule 'diary*' says so"),),
    )  # fmt: skip
    assert render_remembered(refused).text == "rejected, nothing was stored: the rule 'diary*' says so"
    warned = replace(refused, warnings=("a rule says so",))
    assert render_remembered(warned).text == "rejected, nothing was stored; a rule says so"


def test_a_dry_run_tells_every_decision() -> None:
    result = render_remembered(replace(CREATED, id="", ids=()), tags=["clay"], dry_run=True)
    assert result.text == "created: kiln (dry run: nothing was stored)"
    assert result.structured["trace"] == [{"stage": "validate", "outcome": "accepted", "why": ""}]


def test_however_much_there_is_it_keeps_to_the_budget() -> None:
    long = "a name that goes on and on " * 10
    done = replace(
        CREATED, tags=tuple(f"{number} {long}" for number in range(60)), warnings=(long,) * 50,
        similar=tuple(Similar(id=str(n), name=long, similarity=0.9, differs=long) for n in range(40)),
        suggested_entities=(long,) * 40,
    )  # fmt: skip
    result = render_remembered(done)
    assert estimate_tokens(result.text) + estimate_tokens(compact_json(result.structured)) <= 1_500
    assert "(shown: " in result.text


def test_fields_that_cost_too_much_say_which_lists_were_cut() -> None:
    assert render_fields({"suggested": ["kiln"]}).structured == {"suggested": ["kiln"]}
    cut = render_fields({"nodes": ["kiln"], "suggested": [*repeat("a word or two " * 20, 200)]}).structured
    suggested = cut["suggested"]
    assert isinstance(suggested, list)
    assert 0 < len(suggested) < 200
    assert cut["shown"] == f"{len(suggested)} of 200 suggested"
