"""Ann, whose answers are looked at; Bob and Eve, who are foreign to her; and the tokens that they come with."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

from scrubjay.model.memory import Json
from scrubjay.model.token import TokenRequest
from tests.scenarios.paired_servers import ServerPair, Told, Twins
from tests.scenarios.rest_calls import API, BEYOND, JSON
from tests.scenarios.tenant_data import ID, Ask, Deed, Tenant, Turn, given_for

_NUMBERS = count(1)
_OWN = Turn()


@dataclass(kw_only=True)
class Tenants:
    """One set of people on both servers; those before them are strangers to them, too."""

    twins: Twins
    number: int = field(default_factory=lambda: next(_NUMBERS))
    steps: int = 0

    def __post_init__(self) -> None:
        self.ann, self.bob, self.eve = (Tenant(mark=f"{item}word{self.number}") for item in ("ann", "bob", "eve"))
        self._idle_words = self.ann.fresh()
        self.twins.begin()
        wishes = [self._wish("write", self.ann, access="write"), self._wish("read", self.ann)]
        strangers = [self._wish("write", item, access="write") for item in (self.bob, self.eve)]
        both = TokenRequest(name=self.both_read, spaces=(self.ann.space, self.bob.space))
        figures = TokenRequest(name=self.figures, access="metrics")
        ended = TokenRequest(name=self.revoked, spaces=("*",), access="write")
        for world in self.twins.both:
            world.make_tokens([*wishes, *strangers, both, figures, ended], revoked=[self.revoked], expired=self.expired)

    # ---- tokens ----

    @property
    def both_read(self) -> str:
        """Reads what is Ann's and what is Bob's."""
        return f"both-{self.number}"

    @property
    def figures(self) -> str:
        """Sees the figures of the server."""
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

    # ---- asking ----

    def ann_asks(self, deed: Deed, turn: Turn = _OWN, *, token: str = "", space: str = "") -> tuple[Told, Told]:
        """Ann asks the same in both worlds, and must not be able to tell them apart."""
        words = self.ann.fresh()
        asks = [self.made(world, self.ann, deed, turn, words=words, space=space) for world in self.twins.both]
        return self.ann_sends(asks, token=token, learns=turn.whose == "own" and not space)

    def ann_sends(self, asks: Sequence[Ask], *, token: str = "", learns: bool = False) -> tuple[Told, Told]:
        """The same for requests that are made already, one for each world."""
        self.steps += 1
        reported: list[Told] = []
        for world, ask in zip(self.twins.both, asks, strict=True):
            self.ann.say(ask)
            answer = world.send(ask, token=token or self.ann_write, number=self.steps)
            world.require_clean(answer, tenant=self.ann, readable=[self.ann.mark])
            reported.append(answer)
            _settle(world, ask)
            if learns and answer.status < 400:
                world.knowledge(self.ann).learn(f"{ask.said} {answer.body.decode()}")
        self.twins.require_alike(asks, reported)
        return reported[0], reported[1]

    def stranger_does(self, deed: Deed, turn: Turn = _OWN, *, tenant: Tenant | None = None) -> Told:
        """Somebody else is busy, in a space of its own."""
        tenant, world = tenant or self.bob, self.twins.busy
        ask = self.made(world, tenant, deed, turn, words=tenant.fresh(), space="")
        tenant.say(ask)
        answer = world.send(ask, token=token_of(tenant, "write"))
        world.require_clean(answer, tenant=tenant, readable=[tenant.mark])
        _settle(world, ask)
        if turn.whose == "own" and answer.status < 400:
            world.knowledge(tenant).learn(f"{ask.said} {answer.body.decode()}")
        return answer

    def reader_of_both_asks(self, deed: Deed, turn: Turn) -> Told:
        """Whoever may read Ann's and Bob's things finds both, and nothing of Eve's."""
        space_user = Tenant(mark=self.ann.mark, words=1_000_000 + self.steps)
        self.steps += 12
        ask = self.made(self.twins.busy, space_user, deed, turn, words=space_user.fresh(), space="")
        space_user.say(ask)
        answer = self.twins.busy.send(ask, token=self.both_read)
        self.twins.busy.require_clean(answer, tenant=space_user, readable=[self.ann.mark, self.bob.mark])
        return answer

    def sent(self, deed: Deed, *, token: str) -> Told:
        """What a token is told in the busy world, where others and Ann have things; nothing is learned from it."""
        ask = self.made(self.twins.busy, self.ann, deed, _OWN, words=self._idle_words, space="")
        return self.twins.busy.send(ask, token=token)

    def ann_notes(self) -> str:
        """Ann writes something down, in both worlds; returns its name."""
        (word, *_) = self.ann.fresh()
        reported = self.ann_sends([note(word), note(word)])
        assert reported[0].status == 201, reported[0]
        return word

    def ann_does(self, world: ServerPair, ask: Ask) -> str:
        """Ann does something in one world, while others go on in the busy one; returns the id of what she changed."""
        if world is self.twins.busy:
            for tenant in (self.bob, self.eve):
                (word, *_) = tenant.fresh()
                assert world.send(note(word), token=token_of(tenant, "write")).status == 201
        answer = world.send(ask, token=self.ann_write)
        assert answer.status < 300, answer
        return ID.findall(answer.body.decode())[0]

    def require_same_news(self, heard: Sequence[Told]) -> None:
        """What Ann was told of changes is about her own, and the same in both worlds."""
        for world, reported in zip(self.twins.both, heard, strict=True):
            world.require_clean(reported, tenant=self.ann, readable=[self.ann.mark])
        nothing = Ask(method="GET", path="")
        self.twins.require_alike([nothing, nothing], heard)

    def place(self, world: ServerPair) -> str:
        """How far Ann's log has come, in the words of a refusal."""
        ask = Ask(method="GET", path=f"{API}/changes", query=(("after", BEYOND),))
        return world.send(ask, token=self.ann_read).body.decode()

    def made(
        self, world: ServerPair, tenant: Tenant, deed: Deed, turn: Turn, *, words: tuple[str, ...], space: str
    ) -> Ask:
        """What a turn of somebody's asks for, in one world."""
        foreign = self.ann if tenant is self.bob else self.bob
        inputs = given_for(
            tenant,
            turn,
            words=words,
            own=world.knowledge(tenant),
            # Literally the same in both worlds, though it is found in one of them only.
            foreign=self.twins.busy.knowledge(foreign),
            space=space,
        )
        return deed.make(inputs)

    @staticmethod
    def _wish(what: str, tenant: Tenant, *, access: str = "read") -> TokenRequest:
        return TokenRequest(name=token_of(tenant, what), spaces=(tenant.space,), access=access)


def _settle(world: ServerPair, ask: Ask) -> None:
    if "import" in ask.path:
        world.settle()


def note(word: str) -> Ask:
    """A plain thing to write down."""
    body: Json = {"text": f"The jay hid {word} somewhere", "name": word}
    return Ask(method="POST", path=f"{API}/memories", headers=JSON, body=body)


def retitled(name: str, word: str) -> Ask:
    """A change of it."""
    return Ask(method="PATCH", path=f"{API}/memories/{name}", headers=JSON, body={"title": f"Title of {word}"})


def token_of(tenant: Tenant, what: str) -> str:
    """The name of somebody's token."""
    return f"{tenant.space}-{what}"
