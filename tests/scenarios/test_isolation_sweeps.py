"""Every route, tool and verb once with every sort of token and reference: what is open to whom, and what it tells."""

from itertools import count, cycle, product
from typing import get_args

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.scenarios.asking_mcp import METHODS, SAME_FOR_ALL, TOOLS
from tests.scenarios.asking_rest import API, FIGURES, OPEN, ROUTES
from tests.scenarios.asking_verbs import CALLS, call
from tests.scenarios.company import Company
from tests.scenarios.parties import WORD, Ask, By, Deed, Party, Turn, Whose, given_for
from tests.scenarios.worlds import Told, Twins

SURFACES = {"rest": ROUTES, "mcp": (*TOOLS, *METHODS, *SAME_FOR_ALL), "calls": CALLS}
DEEDS: tuple[Deed, ...] = tuple(deed for deeds in SURFACES.values() for deed in deeds)
BYS: tuple[By, ...] = get_args(By)
_GARBAGE = ("sj_nothing", "a.b.c", "eyJhbGciOiJub25lIn0.e30.")
surfaces = pytest.mark.parametrize("surface", SURFACES)


@pytest.fixture(scope="module")
def company(twins: Twins) -> Company:
    """Ann, Bob and Eve, with something of every sort in each one's space."""
    found = Company(twins=twins)
    for number, deed in enumerate(deed for deed in DEEDS if deed.writes and not deed.closed):
        turn = Turn(number=number % 7 + 1)
        found.ann_asks(deed, turn)
        for party in (found.bob, found.eve):
            found.stranger_does(deed, turn, party=party)
    return found


@surfaces
def test_whatever_is_referred_to_it_is_as_if_there_were_no_others(company: Company, surface: str) -> None:
    numbers, turns = count(), cycle(BYS)
    for deed, whose in product(SURFACES[surface], get_args(Whose)):
        # What is somebody else's is asked for in every way, all else in one after the other.
        for by in BYS if whose == "foreign" else (next(turns),):
            company.ann_asks(deed, Turn(whose=whose, by=by, number=next(numbers) % 41))


@surfaces
def test_a_space_that_exists_looks_like_one_that_does_not(company: Company, surface: str) -> None:
    world = company.twins.busy
    for number, deed in enumerate(SURFACES[surface]):
        words, turn = company.ann.fresh(), Turn(whose="foreign", number=number)
        seen: list[tuple[str, int, str]] = []
        for space in (company.bob.space, "nobodys-at-all"):
            ask = company.made(world, company.ann, deed, turn, words=words, space=space)
            company.ann.say(ask)
            if space not in ask.said:
                break  # It takes none.
            told = world.send(ask, token=company.ann_write)
            assert told.is_refusal or deed.name == "completion/complete", (deed, told)
            world.require_clean(told, party=company.ann, readable=[company.ann.mark])
            seen.append((ask.said.replace(space, "?"), told.status, told.text.replace(space, "?")))
        assert len(set(seen)) <= 1, seen


@surfaces
def test_who_may_only_read_changes_nothing(company: Company, surface: str) -> None:
    worlds = company.twins.both
    before = [company.place(world) for world in worlds]
    for number, deed in enumerate(SURFACES[surface]):
        told = company.ann_asks(deed, Turn(number=number), token=company.ann_read)
        both = company.reader_of_both_asks(deed, Turn(number=number))
        if deed.writes or deed.closed:
            assert all(one.is_refusal for one in (*told, both)), (deed, told, both)
    assert [company.place(world) for world in worlds] == before


def test_who_sees_figures_sees_nothing_else(company: Company) -> None:
    before = company.place(company.twins.busy)
    for deed in (*DEEDS, *OPEN):
        told = company.sent(deed, token=company.figures)
        assert not WORD.search(told.text.casefold()), (deed, told)
        if deed in (FIGURES, *OPEN):
            assert told.status == 200
        elif deed in SAME_FOR_ALL:
            assert told == company.sent(deed, token=company.ann_write)
        else:
            assert told.is_refusal, (deed, told)
    assert company.place(company.twins.busy) == before


def test_who_is_not_let_in_gets_one_answer_everywhere(company: Company) -> None:
    world = company.twins.busy
    for number, garbage in enumerate(_GARBAGE):
        world.secrets[f"garbage-{number}"] = garbage
    for token in ("", company.revoked, company.expired, *(f"garbage-{number}" for number in range(len(_GARBAGE)))):
        answers = {
            company.sent(deed, token=token)
            for deed in (*DEEDS, _at("/nowhere"), _at("/mcp/nowhere"), _at("/call/nowhere"), _at(f"{API}/nowhere"))
        }
        (answer,) = answers
        assert answer.status == 401
        assert dict(answer.headers)["www-authenticate"].startswith("Bearer")
        assert [company.sent(_at(path), token=token).status for path in ("/healthz", "/openapi.json")] == [200, 200]


def test_no_stream_is_opened_for_whoever_may_not_read_it(company: Company) -> None:
    world = company.twins.busy
    url = world.url.replace("http://", "ws://", 1) + f"{API}/changes"
    visitor = Party(mark=company.ann.mark, said_words={company.bob.space})
    for token, space, status in (
        (company.ann_write, company.bob.space, 403),
        (company.figures, company.ann.space, 403),
        *((token, company.ann.space, 401) for token in ("", company.revoked, company.expired)),
    ):
        headers = world.bearer(token)
        with (
            pytest.raises(InvalidStatus) as refused,
            connect(f"{url}?space={space}", additional_headers=headers, proxy=None, open_timeout=20),
        ):
            pass
        assert refused.value.response.status_code == status
        told = world.send(Ask(method="GET", path=f"{API}/changes", query=(("space", space),)), token=token)
        assert (told.status, dict(told.headers)["content-type"]) == (status, "application/problem+json")
        for body in (bytes(refused.value.response.body or b""), told.body):
            world.require_clean(Told(status=status, headers=(), body=body), party=visitor, readable=[company.ann.mark])


def test_a_frame_may_look_in_the_spaces_of_its_token_only(company: Company) -> None:
    world = company.twins.busy
    words = company.ann.fresh()
    for deed in CALLS:
        verb = deed.name.removeprefix("call/")
        seen: set[str] = set()
        for space in (company.bob.space, "nobodys-at-all"):
            given = given_for(
                company.ann, Turn(), words=words, own=world.knowledge(company.ann),
                foreign=world.knowledge(company.bob), space="",
            )  # fmt: skip
            told = world.send(call(verb, given, also=(space,)), token=company.ann_write)
            assert told.is_refusal, (verb, told)
            seen.add(told.text.replace(space, "?"))
        assert len(seen) == 1, seen


def _at(path: str) -> Deed:
    return Deed(name=path, make=lambda _: Ask(method="GET", path=path))
