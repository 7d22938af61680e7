"""Ann, whose answers are checked; Bob and Eve, the other tenants; and their tokens."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

from scrubjay.model.memory import Json
from scrubjay.model.requests import CreateTokenRequest
from tests.scenarios.paired_servers import Answer, ServerPair, TenantServer
from tests.scenarios.rest_calls import API, BEYOND, JSON
from tests.scenarios.tenant_data import ID, HttpRequest, Operation, Tenant, Turn, make_inputs

_NUMBERS = count(1)
_OWN = Turn()


@dataclass(kw_only=True)
class Tenants:
    """A new set of tenants on both servers; earlier sets are foreign to them too."""

    pair: ServerPair
    number: int = field(default_factory=lambda: next(_NUMBERS))
    steps: int = 0

    def __post_init__(self) -> None:
        self.ann, self.bob, self.eve = (Tenant(mark=f"{name}word{self.number}") for name in ("ann", "bob", "eve"))
        self._idle_words = self.ann.new_words()
        self.pair.forget_tenants()
        token_requests = [self._token_request("write", self.ann, access="write"), self._token_request("read", self.ann)]
        strangers = [self._token_request("write", tenant, access="write") for tenant in (self.bob, self.eve)]
        both = CreateTokenRequest(name=self.both_read, spaces=(self.ann.space, self.bob.space))
        figures = CreateTokenRequest(name=self.figures, access="metrics")
        revoked_token = CreateTokenRequest(name=self.revoked, spaces=("*",), access="write")
        for server in self.pair.both:
            server.make_tokens(
                [*token_requests, *strangers, both, figures, revoked_token],
                revoked=[self.revoked],
                expired=self.expired,
            )

    # ---- tokens ----

    @property
    def both_read(self) -> str:
        """Reads the spaces of Ann and of Bob."""
        return f"both-{self.number}"

    @property
    def figures(self) -> str:
        """Reads the metrics of the server."""
        return f"figures-{self.number}"

    @property
    def revoked(self) -> str:
        return f"revoked-{self.number}"

    @property
    def expired(self) -> str:
        return f"expired-{self.number}"

    @property
    def ann_write(self) -> str:
        return token_of(self.ann, "write")

    @property
    def ann_read(self) -> str:
        return token_of(self.ann, "read")

    # ---- requests ----

    def ann_asks(
        self, operation: Operation, turn: Turn = _OWN, *, token: str = "", space: str = ""
    ) -> tuple[Answer, Answer]:
        """Send the same request of Ann to both servers, and require the same answer."""
        words = self.ann.new_words()
        requests = [
            self.make_request(server, self.ann, operation, turn, words=words, space=space) for server in self.pair.both
        ]
        return self.ann_sends(requests, token=token, learns=turn.whose == "own" and not space)

    def ann_sends(
        self, requests: Sequence[HttpRequest], *, token: str = "", learns: bool = False
    ) -> tuple[Answer, Answer]:
        """Send prepared requests of Ann, one to each server, and require the same answer."""
        self.steps += 1
        answers: list[Answer] = []
        self.pair.advance_clock()
        for server, request in zip(self.pair.both, requests, strict=True):
            self.ann.note_sent(request)
            answer = server.send(request, token=token or self.ann_write, number=self.steps)
            server.require_clean(answer, tenant=self.ann, readable=[self.ann.mark])
            answers.append(answer)
            _settle(server, request)
            if learns and answer.status < 400:
                server.knowledge(self.ann).learn(f"{request.text} {answer.body.decode()}")
        self.pair.require_equal_answers(requests, answers)
        return answers[0], answers[1]

    def stranger_does(self, operation: Operation, turn: Turn = _OWN, *, tenant: Tenant | None = None) -> Answer:
        """Let another tenant call an operation in its own space, on the busy server."""
        tenant, server = tenant or self.bob, self.pair.busy
        request = self.make_request(server, tenant, operation, turn, words=tenant.new_words(), space="")
        tenant.note_sent(request)
        answer = server.send(request, token=token_of(tenant, "write"))
        server.require_clean(answer, tenant=tenant, readable=[tenant.mark])
        _settle(server, request)
        if turn.whose == "own" and answer.status < 400:
            server.knowledge(tenant).learn(f"{request.text} {answer.body.decode()}")
        return answer

    def reader_of_both_asks(self, operation: Operation, turn: Turn) -> Answer:
        """Call an operation with a token for the spaces of Ann and Bob; the answer has nothing of Eve."""
        reader = Tenant(mark=self.ann.mark, words=1_000_000 + self.steps)
        self.steps += 12
        request = self.make_request(self.pair.busy, reader, operation, turn, words=reader.new_words(), space="")
        reader.note_sent(request)
        answer = self.pair.busy.send(request, token=self.both_read)
        self.pair.busy.require_clean(answer, tenant=reader, readable=[self.ann.mark, self.bob.mark])
        return answer

    def send(self, operation: Operation, *, token: str) -> Answer:
        """Call an operation with a token on the busy server, without learning from the answer."""
        request = self.make_request(self.pair.busy, self.ann, operation, _OWN, words=self._idle_words, space="")
        return self.pair.busy.send(request, token=token)

    def ann_notes(self) -> str:
        """Let Ann store a memory on both servers; return its name."""
        (word, *_) = self.ann.new_words()
        answers = self.ann_sends([note(word), note(word)])
        assert answers[0].status == 201, answers[0]
        return word

    def ann_writes(self, server: TenantServer, request: HttpRequest) -> str:
        """Let Ann write on one server, after others have written on the busy one; return the id of her memory."""
        if server is self.pair.busy:
            for tenant in (self.bob, self.eve):
                (word, *_) = tenant.new_words()
                assert server.send(note(word), token=token_of(tenant, "write")).status == 201
        answer = server.send(request, token=self.ann_write)
        assert answer.status < 300, answer
        return ID.findall(answer.body.decode())[0]

    def require_same_news(self, events: Sequence[Answer]) -> None:
        """Require that Ann's events are about her own memories, and the same on both servers."""
        for server, answers in zip(self.pair.both, events, strict=True):
            server.require_clean(answers, tenant=self.ann, readable=[self.ann.mark])
        nothing = HttpRequest(method="GET", path="")
        self.pair.require_equal_answers([nothing, nothing], events)

    def place(self, server: TenantServer) -> str:
        """Return the end of Ann's log, as a refusal names it."""
        request = HttpRequest(method="GET", path=f"{API}/changes", query=(("after", BEYOND),))
        return server.send(request, token=self.ann_read).body.decode()

    def make_request(
        self,
        server: TenantServer,
        tenant: Tenant,
        operation: Operation,
        turn: Turn,
        *,
        words: tuple[str, ...],
        space: str,
    ) -> HttpRequest:
        """Make the request of a tenant's step on one server."""
        foreign = self.ann if tenant is self.bob else self.bob
        inputs = make_inputs(
            tenant,
            turn,
            words=words,
            own=server.knowledge(tenant),
            # The same references on both servers, though they exist on one of them only.
            foreign=self.pair.busy.knowledge(foreign),
            space=space,
        )
        return operation.make(inputs)

    @staticmethod
    def _token_request(access_name: str, tenant: Tenant, *, access: str = "read") -> CreateTokenRequest:
        return CreateTokenRequest(name=token_of(tenant, access_name), spaces=(tenant.space,), access=access)


def _settle(server: TenantServer, request: HttpRequest) -> None:
    if "import" in request.path:
        server.settle()


def note(word: str) -> HttpRequest:
    """Make a request that stores a memory."""
    body: Json = {"text": f"The jay hid {word} somewhere", "name": word}
    return HttpRequest(method="POST", path=f"{API}/memories", headers=JSON, body=body)


def change_title(name: str, word: str) -> HttpRequest:
    """Make a request that changes its title."""
    return HttpRequest(method="PATCH", path=f"{API}/memories/{name}", headers=JSON, body={"title": f"Title of {word}"})


def token_of(tenant: Tenant, access_name: str) -> str:
    """Return the name of a tenant's token."""
    return f"{tenant.space}-{access_name}"
