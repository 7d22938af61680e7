"""Every route, tool and verb once with every sort of token and reference: what is open to whom, and what it tells."""

from itertools import count, cycle, product
from typing import get_args

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.scenarios.mcp_calls import METHODS, SAME_FOR_ALL, TOOLS
from tests.scenarios.paired_servers import Told, Twins
from tests.scenarios.rest_calls import API, FIGURES, OPEN, ROUTES
from tests.scenarios.tenant_data import WORD, Ask, By, Deed, Tenant, Turn, Whose, given_for
from tests.scenarios.tenants import Tenants
from tests.scenarios.verb_calls import CALLS, call

SURFACES = {"rest": ROUTES, "mcp": (*TOOLS, *METHODS, *SAME_FOR_ALL), "calls": CALLS}
DEEDS: tuple[Deed, ...] = tuple(deed for deeds in SURFACES.values() for deed in deeds)
BYS: tuple[By, ...] = get_args(By)
_GARBAGE = ("sj_nothing", "a.b.c", "eyJhbGciOiJub25lIn0.e30.")
surfaces = pytest.mark.parametrize("surface", SURFACES)


@pytest.fixture(scope="module")
def tenants(twins: Twins) -> Tenants:
    """Ann, Bob and Eve, with something of every sort in each one's space."""
    results = Tenants(twins=twins)
    for number, deed in enumerate(deed for deed in DEEDS if deed.writes and not deed.closed):
        turn = Turn(number=number % 7 + 1)
        results.ann_asks(deed, turn)
        for tenant in (results.bob, results.eve):
            results.stranger_does(deed, turn, tenant=tenant)
    return results


@surfaces
def test_whatever_is_referred_to_it_is_as_if_there_were_no_others(tenants: Tenants, surface: str) -> None:
    numbers, turns = count(), cycle(BYS)
    for deed, whose in product(SURFACES[surface], get_args(Whose)):
        # What is somebody else's is asked for in every way, all else in one after the other.
        for by in BYS if whose == "foreign" else (next(turns),):
            tenants.ann_asks(deed, Turn(whose=whose, by=by, number=next(numbers) % 41))


@surfaces
def test_a_space_that_exists_looks_like_one_that_does_not(tenants: Tenants, surface: str) -> None:
    world = tenants.twins.busy
    for number, deed in enumerate(SURFACES[surface]):
        words, turn = tenants.ann.fresh(), Turn(whose="foreign", number=number)
        seen: list[tuple[str, int, str]] = []
        for space in (tenants.bob.space, "nobodys-at-all"):
            ask = tenants.made(world, tenants.ann, deed, turn, words=words, space=space)
            tenants.ann.say(ask)
            if space not in ask.said:
                break  # It takes none.
            reported = world.send(ask, token=tenants.ann_write)
            assert reported.is_refusal or deed.name == "completion/complete", (deed, reported)
            world.require_clean(reported, tenant=tenants.ann, readable=[tenants.ann.mark])
            seen.append((ask.said.replace(space, "?"), reported.status, reported.text.replace(space, "?")))
        assert len(set(seen)) <= 1, seen


@surfaces
def test_who_may_only_read_changes_nothing(tenants: Tenants, surface: str) -> None:
    worlds = tenants.twins.both
    before = [tenants.place(world) for world in worlds]
    for number, deed in enumerate(SURFACES[surface]):
        reported = tenants.ann_asks(deed, Turn(number=number), token=tenants.ann_read)
        both = tenants.reader_of_both_asks(deed, Turn(number=number))
        if deed.writes or deed.closed:
            assert all(item.is_refusal for item in (*reported, both)), (deed, reported, both)
    assert [tenants.place(world) for world in worlds] == before


def test_who_sees_figures_sees_nothing_else(tenants: Tenants) -> None:
    before = tenants.place(tenants.twins.busy)
    for deed in (*DEEDS, *OPEN):
        reported = tenants.sent(deed, token=tenants.figures)
        assert not WORD.search(reported.text.casefold()), (deed, reported)
        if deed in (FIGURES, *OPEN):
            assert reported.status == 200
        elif deed in SAME_FOR_ALL:
            assert reported == tenants.sent(deed, token=tenants.ann_write)
        else:
            assert reported.is_refusal, (deed, reported)
    assert tenants.place(tenants.twins.busy) == before


def test_who_is_not_let_in_gets_one_answer_everywhere(tenants: Tenants) -> None:
    world = tenants.twins.busy
    for number, garbage in enumerate(_GARBAGE):
        world.secrets[f"garbage-{number}"] = garbage
    for token in ("", tenants.revoked, tenants.expired, *(f"garbage-{number}" for number in range(len(_GARBAGE)))):
        answers = {
            tenants.sent(deed, token=token)
            for deed in (*DEEDS, _at("/nowhere"), _at("/mcp/nowhere"), _at("/call/nowhere"), _at(f"{API}/nowhere"))
        }
        (answer,) = answers
        assert answer.status == 401
        assert dict(answer.headers)["www-authenticate"].startswith("Bearer")
        assert [tenants.sent(_at(path), token=token).status for path in ("/healthz", "/openapi.json")] == [200, 200]


def test_no_stream_is_opened_for_whoever_may_not_read_it(tenants: Tenants) -> None:
    world = tenants.twins.busy
    url = world.url.replace("http://", "ws://", 1) + f"{API}/changes"
    space_user = Tenant(mark=tenants.ann.mark, said_words={tenants.bob.space})
    for token, space, status in (
        (tenants.ann_write, tenants.bob.space, 403),
        (tenants.figures, tenants.ann.space, 403),
        *((token, tenants.ann.space, 401) for token in ("", tenants.revoked, tenants.expired)),
    ):
        headers = world.bearer(token)
        with (
            pytest.raises(InvalidStatus) as refused,
            connect(f"{url}?space={space}", additional_headers=headers, proxy=None, open_timeout=20),
        ):
            pass
        assert refused.value.response.status_code == status
        reported = world.send(Ask(method="GET", path=f"{API}/changes", query=(("space", space),)), token=token)
        assert (reported.status, dict(reported.headers)["content-type"]) == (status, "application/problem+json")
        for body in (bytes(refused.value.response.body or b""), reported.body):
            world.require_clean(
                Told(status=status, headers=(), body=body), tenant=space_user, readable=[tenants.ann.mark]
            )


def test_a_frame_may_look_in_the_spaces_of_its_token_only(tenants: Tenants) -> None:
    world = tenants.twins.busy
    words = tenants.ann.fresh()
    for deed in CALLS:
        verb = deed.name.removeprefix("call/")
        seen: set[str] = set()
        for space in (tenants.bob.space, "nobodys-at-all"):
            inputs = given_for(
                tenants.ann, Turn(), words=words, own=world.knowledge(tenants.ann),
                foreign=world.knowledge(tenants.bob), space="",
            )  # fmt: skip
            reported = world.send(call(verb, inputs, also=(space,)), token=tenants.ann_write)
            assert reported.is_refusal, (verb, reported)
            seen.add(reported.text.replace(space, "?"))
        assert len(seen) == 1, seen


def _at(path: str) -> Deed:
    return Deed(name=path, make=lambda _: Ask(method="GET", path=path))
