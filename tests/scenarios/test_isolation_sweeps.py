"""Every route, tool and verb with every kind of token and reference: the rights of tokens, and the answers."""

from itertools import count, cycle, product
from typing import get_args

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.patience import PATIENCE
from tests.scenarios.mcp_calls import METHODS, SAME_FOR_ALL, TOOLS
from tests.scenarios.paired_servers import Answer, ServerPair
from tests.scenarios.rest_calls import API, METRICS, PUBLIC, ROUTES
from tests.scenarios.tenant_data import WORD, By, HttpRequest, Operation, Tenant, Turn, Whose, make_inputs
from tests.scenarios.tenants import Tenants
from tests.scenarios.verb_calls import CALLS, call

SURFACES = {"rest": ROUTES, "mcp": (*TOOLS, *METHODS, *SAME_FOR_ALL), "calls": CALLS}
OPERATIONS: tuple[Operation, ...] = tuple(operation for operations in SURFACES.values() for operation in operations)
REFERENCE_KINDS: tuple[By, ...] = get_args(By)
_GARBAGE = ("sj_nothing", "a.b.c", "eyJhbGciOiJub25lIn0.e30.")
surfaces = pytest.mark.parametrize("surface", SURFACES)


@pytest.fixture(scope="module")
def tenants(pair: ServerPair) -> Tenants:
    """Ann, Bob and Eve, with memories of every kind in each space."""
    tenants_ = Tenants(pair=pair)
    for number, operation in enumerate(
        operation for operation in OPERATIONS if operation.writes and not operation.closed
    ):
        turn = Turn(number=number % 7 + 1)
        tenants_.ann_asks(operation, turn)
        for tenant in (tenants_.bob, tenants_.eve):
            tenants_.stranger_does(operation, turn, tenant=tenant)
    return tenants_


@surfaces
def test_answers_do_not_depend_on_other_tenants(tenants: Tenants, surface: str) -> None:
    numbers, turns = count(), cycle(REFERENCE_KINDS)
    for operation, whose in product(SURFACES[surface], get_args(Whose)):
        # Foreign memories by every kind of reference, all others by one kind in turn.
        for by in REFERENCE_KINDS if whose == "foreign" else (next(turns),):
            tenants.ann_asks(operation, Turn(whose=whose, by=by, number=next(numbers) % 41))


@surfaces
def test_a_space_that_exists_looks_like_one_that_does_not(tenants: Tenants, surface: str) -> None:
    server = tenants.pair.busy
    for number, operation in enumerate(SURFACES[surface]):
        words, turn = tenants.ann.new_words(), Turn(whose="foreign", number=number)
        seen: list[tuple[str, int, str]] = []
        for space in (tenants.bob.space, "no-such-space"):
            request = tenants.make_request(server, tenants.ann, operation, turn, words=words, space=space)
            tenants.ann.note_sent(request)
            if space not in request.text:
                break  # The operation takes no space.
            answer = server.send(request, token=tenants.ann_write)
            assert answer.is_refusal or operation.name == "completion/complete", (operation, answer)
            server.require_clean(answer, tenant=tenants.ann, readable=[tenants.ann.mark])
            seen.append((request.text.replace(space, "?"), answer.status, answer.text.replace(space, "?")))
        assert len(set(seen)) <= 1, seen


@surfaces
def test_a_token_that_may_only_read_changes_nothing(tenants: Tenants, surface: str) -> None:
    servers = tenants.pair.both
    before = [tenants.place(server) for server in servers]
    for number, operation in enumerate(SURFACES[surface]):
        answers = tenants.ann_asks(operation, Turn(number=number), token=tenants.ann_read)
        both = tenants.reader_of_both_asks(operation, Turn(number=number))
        if operation.writes or operation.closed:
            assert all(answer.is_refusal for answer in (*answers, both)), (operation, answers, both)
    assert [tenants.place(server) for server in servers] == before


def test_a_token_for_metrics_reads_nothing_else(tenants: Tenants) -> None:
    before = tenants.place(tenants.pair.busy)
    for operation in (*OPERATIONS, *PUBLIC):
        answer = tenants.send(operation, token=tenants.figures)
        assert not WORD.search(answer.text.casefold()), (operation, answer)
        if operation in (METRICS, *PUBLIC):
            assert answer.status == 200
        elif operation in SAME_FOR_ALL:
            assert answer == tenants.send(operation, token=tenants.ann_write)
        else:
            assert answer.is_refusal, (operation, answer)
    assert tenants.place(tenants.pair.busy) == before


def test_an_invalid_token_gets_the_same_answer_everywhere(tenants: Tenants) -> None:
    server = tenants.pair.busy
    for number, garbage in enumerate(_GARBAGE):
        server.secrets[f"garbage-{number}"] = garbage
    for token in ("", tenants.revoked, tenants.expired, *(f"garbage-{number}" for number in range(len(_GARBAGE)))):
        answers = {
            tenants.send(operation, token=token)
            for operation in (
                *OPERATIONS,
                _at("/nowhere"),
                _at("/mcp/nowhere"),
                _at("/call/nowhere"),
                _at(f"{API}/nowhere"),
            )
        }
        (answer,) = answers
        assert answer.status == 401
        assert dict(answer.headers)["www-authenticate"].startswith("Bearer")
        assert [tenants.send(_at(path), token=token).status for path in ("/healthz", "/openapi.json")] == [200, 200]


def test_no_stream_opens_for_a_token_without_access(tenants: Tenants) -> None:
    server = tenants.pair.busy
    url = server.url.replace("http://", "ws://", 1) + f"{API}/changes"
    reader = Tenant(mark=tenants.ann.mark, own_words={tenants.bob.space})
    for token, space, status in (
        (tenants.ann_write, tenants.bob.space, 403),
        (tenants.figures, tenants.ann.space, 403),
        *((token, tenants.ann.space, 401) for token in ("", tenants.revoked, tenants.expired)),
    ):
        headers = server.bearer(token)
        with (
            pytest.raises(InvalidStatus) as refused,
            connect(f"{url}?space={space}", additional_headers=headers, proxy=None, open_timeout=PATIENCE),
        ):
            pass
        assert refused.value.response.status_code == status
        answer = server.send(HttpRequest(method="GET", path=f"{API}/changes", query=(("space", space),)), token=token)
        assert (answer.status, dict(answer.headers)["content-type"]) == (status, "application/problem+json")
        for body in (bytes(refused.value.response.body or b""), answer.body):
            server.require_clean(
                Answer(status=status, headers=(), body=body), tenant=reader, readable=[tenants.ann.mark]
            )


def test_a_frame_may_search_the_spaces_of_its_token_only(tenants: Tenants) -> None:
    server = tenants.pair.busy
    words = tenants.ann.new_words()
    for operation in CALLS:
        verb = operation.name.removeprefix("call/")
        seen: set[str] = set()
        for space in (tenants.bob.space, "no-such-space"):
            inputs = make_inputs(
                tenants.ann, Turn(), words=words, own=server.knowledge(tenants.ann),
                foreign=server.knowledge(tenants.bob), space="",
            )  # fmt: skip
            answer = server.send(call(verb, inputs, also=(space,)), token=tenants.ann_write)
            assert answer.is_refusal, (verb, answer)
            seen.add(answer.text.replace(space, "?"))
        assert len(seen) == 1, seen


def _at(path: str) -> Operation:
    return Operation(name=path, make=lambda _: HttpRequest(method="GET", path=path))
