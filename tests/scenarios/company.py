"""Ann, whose answers are looked at; Bob and Eve, who are foreign to her; and the tokens that they come with."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

from scrubjay.model.memory import Json
from scrubjay.model.token import TokenRequest
from tests.scenarios.asking_rest import API, BEYOND, JSON
from tests.scenarios.parties import ID, Ask, Deed, Party, Turn, given_for
from tests.scenarios.worlds import Told, Twins, World

_NUMBERS = count(1)
_OWN = Turn()


@dataclass(kw_only=True)
class Company:
    """One set of people on both servers; those before them are strangers to them, too."""

    twins: Twins
    number: int = field(default_factory=lambda: next(_NUMBERS))
    steps: int = 0

    def __post_init__(self) -> None:
        self.ann, self.bob, self.eve = (Party(mark=f"{one}word{self.number}") for one in ("ann", "bob", "eve"))
        self._idle_words = self.ann.fresh()
        self.twins.begin()
        wishes = [self._wish("write", self.ann, access="write"), self._wish("read", self.ann)]
        strangers = [self._wish("write", one, access="write") for one in (self.bob, self.eve)]
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
        told: list[Told] = []
        for world, ask in zip(self.twins.both, asks, strict=True):
            self.ann.say(ask)
            answer = world.send(ask, token=token or self.ann_write, number=self.steps)
            world.require_clean(answer, party=self.ann, readable=[self.ann.mark])
            told.append(answer)
            _settle(world, ask)
            if learns and answer.status < 400:
                world.knowledge(self.ann).learn(f"{ask.said} {answer.body.decode()}")
        self.twins.require_alike(asks, told)
        return told[0], told[1]

    def stranger_does(self, deed: Deed, turn: Turn = _OWN, *, party: Party | None = None) -> Told:
        """Somebody else is busy, in a space of its own."""
        party, world = party or self.bob, self.twins.busy
        ask = self.made(world, party, deed, turn, words=party.fresh(), space="")
        party.say(ask)
        answer = world.send(ask, token=token_of(party, "write"))
        world.require_clean(answer, party=party, readable=[party.mark])
        _settle(world, ask)
        if turn.whose == "own" and answer.status < 400:
            world.knowledge(party).learn(f"{ask.said} {answer.body.decode()}")
        return answer

    def reader_of_both_asks(self, deed: Deed, turn: Turn) -> Told:
        """Whoever may read Ann's and Bob's things finds both, and nothing of Eve's."""
        visitor = Party(mark=self.ann.mark, words=1_000_000 + self.steps)
        self.steps += 12
        ask = self.made(self.twins.busy, visitor, deed, turn, words=visitor.fresh(), space="")
        visitor.say(ask)
        answer = self.twins.busy.send(ask, token=self.both_read)
        self.twins.busy.require_clean(answer, party=visitor, readable=[self.ann.mark, self.bob.mark])
        return answer

    def sent(self, deed: Deed, *, token: str) -> Told:
        """What a token is told in the busy world, where others and Ann have things; nothing is learned from it."""
        ask = self.made(self.twins.busy, self.ann, deed, _OWN, words=self._idle_words, space="")
        return self.twins.busy.send(ask, token=token)

    def ann_notes(self) -> str:
        """Ann writes something down, in both worlds; returns its name."""
        (word, *_) = self.ann.fresh()
        told = self.ann_sends([note(word), note(word)])
        assert told[0].status == 201, told[0]
        return word

    def ann_does(self, world: World, ask: Ask) -> str:
        """Ann does something in one world, while others go on in the busy one; returns the id of what she changed."""
        if world is self.twins.busy:
            for party in (self.bob, self.eve):
                (word, *_) = party.fresh()
                assert world.send(note(word), token=token_of(party, "write")).status == 201
        answer = world.send(ask, token=self.ann_write)
        assert answer.status < 300, answer
        return ID.findall(answer.body.decode())[0]

    def require_same_news(self, heard: Sequence[Told]) -> None:
        """What Ann was told of changes is about her own, and the same in both worlds."""
        for world, told in zip(self.twins.both, heard, strict=True):
            world.require_clean(told, party=self.ann, readable=[self.ann.mark])
        nothing = Ask(method="GET", path="")
        self.twins.require_alike([nothing, nothing], heard)

    def place(self, world: World) -> str:
        """How far Ann's log has come, in the words of a refusal."""
        ask = Ask(method="GET", path=f"{API}/changes", query=(("after", BEYOND),))
        return world.send(ask, token=self.ann_read).body.decode()

    def made(self, world: World, party: Party, deed: Deed, turn: Turn, *, words: tuple[str, ...], space: str) -> Ask:
        """What a turn of somebody's asks for, in one world."""
        foreign = self.ann if party is self.bob else self.bob
        given = given_for(
            party,
            turn,
            words=words,
            own=world.knowledge(party),
            # Literally the same in both worlds, though it is found in one of them only.
            foreign=self.twins.busy.knowledge(foreign),
            space=space,
        )
        return deed.make(given)

    @staticmethod
    def _wish(what: str, party: Party, *, access: str = "read") -> TokenRequest:
        return TokenRequest(name=token_of(party, what), spaces=(party.space,), access=access)


def _settle(world: World, ask: Ask) -> None:
    if "import" in ask.path:
        world.settle()


def note(word: str) -> Ask:
    """A plain thing to write down."""
    body: Json = {"text": f"The jay hid {word} somewhere", "name": word}
    return Ask(method="POST", path=f"{API}/memories", headers=JSON, body=body)


def retitled(name: str, word: str) -> Ask:
    """A change of it."""
    return Ask(method="PATCH", path=f"{API}/memories/{name}", headers=JSON, body={"title": f"Title of {word}"})


def token_of(party: Party, what: str) -> str:
    """The name of somebody's token."""
    return f"{party.space}-{what}"
