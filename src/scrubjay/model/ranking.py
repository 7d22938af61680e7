"""How recall ranks: what each part of a score is worth, and which stages are left out."""

from dataclasses import dataclass, field, fields, replace
from typing import Self

from scrubjay.errors import InvalidInput

# Each can be left out, to see what it is worth: see `SCRUBJAY_RECALL_WITHOUT`.
STAGES = (
    "words", "meaning", "context", "kin", "pairs", "phrases", "dates", "names", "manner", "standing", "typos", "rerank",
)  # fmt: skip


def _weight(default: float, doc: str) -> float:
    return field(default=default, metadata={"doc": doc})


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What each part of a score is worth beside words, which count as BM25 says; a rare word counts about 5."""

    saturation: float = _weight(0.9, "BM25's k1: how much a word counts that is said again.")
    length: float = _weight(0.3, "BM25's b: how much a long passage is held against it.")
    context: float = _weight(1.0, "What words count that stand in the passages around.")
    meaning: float = _weight(1.0, "Times the cosine, and the weight that the embedder's profile gives it.")
    reply: float = _weight(0.8, "The meaning of another's question right before it, beside its own.")
    pair: float = _weight(0.2, "Two words of the question that stand side by side.")
    phrase: float = _weight(3.0, "A phrase that the question quotes.")
    date: float = _weight(4.0, "A date within the days that the question names; less with every day between.")
    name: float = _weight(0.5, "Somebody whom the question names is who it is about, or who says it.")
    asking: float = _weight(-0.6, "It is a question itself, and questions rarely answer.")
    saying: float = _weight(0.2, "Times the logarithm of its length: it says more.")
    kin: float = _weight(0.4, "A word that means nearly what one of the question does, where that one is missing.")
    typo: float = _weight(0.7, "A word that looks like one of the question that nothing has.")
    tag: float = _weight(1.5, "Times a word of the question that is a tag in the space.")
    alias: float = _weight(0.7, "A word of another name of what the question names.")
    relevance: float = _weight(0.5, "Taken off as relevance falls from 1 to 0; it halves in a year unless confirmed.")
    recency: float = _weight(0.3, "A memory of this moment; half of it after a month.")
    accessed: float = _weight(0.05, "Times the logarithm of how often it was read, five times at most.")
    settled: float = _weight(0.1, "Its tier is semantic or procedural.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The weights in use and the stages left out."""

    weights: Weights = field(default_factory=Weights)
    without: frozenset[str] = frozenset()

    def uses(self, stage: str) -> bool:
        """Whether a stage takes part."""
        return stage not in self.without

    @classmethod
    def parsed(cls, *, without: str = "", weights: str = "") -> Self:
        """From what a user writes: stages by their names, weights as `name=value`, each separated by commas."""
        left_out = frozenset(one.strip().lower() for one in without.split(",") if one.strip())
        for stage in sorted(left_out.difference(STAGES)):
            raise InvalidInput(
                f"recall has no stage {stage!r}",
                hint=f"SCRUBJAY_RECALL_WITHOUT names some of {', '.join(STAGES)}",
                setting="SCRUBJAY_RECALL_WITHOUT",
            )
        given = dict(_assignment(one) for one in weights.split(",") if one.strip())
        return cls(weights=replace(Weights(), **given), without=left_out)


def _assignment(text: str) -> tuple[str, float]:
    name, _, value = (part.strip() for part in text.partition("="))
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    names = [field.name for field in fields(Weights)]
    if name not in names or not abs(number) <= _LARGEST:
        raise InvalidInput(
            f"{text.strip()!r} is no weight of recall",
            hint=f"SCRUBJAY_RECALL_WEIGHTS is like pair=0.2,recency=0; there are {', '.join(names)}",
            setting="SCRUBJAY_RECALL_WEIGHTS",
        )
    return name, number


_LARGEST = 1000.0
