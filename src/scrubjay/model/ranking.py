"""The ranking of recall: the weights of a score and the stages that are switched off."""

from dataclasses import field, fields, replace
from typing import Self

from scrubjay.errors import InvalidInput
from scrubjay.lazy import dataclass

# SCRUBJAY_RECALL_WITHOUT switches stages off.
STAGES = (
    "words", "meaning", "context", "kin", "pairs", "phrases", "dates", "names", "manner", "standing", "typos", "rerank",
    "reader", "variants",
)  # fmt: skip


def _weight(default: float, doc: str) -> float:
    return field(default=default, metadata={"doc": doc})


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """The weight of each part of a score, relative to words, which BM25 weighs; a rare word scores about 5."""

    saturation: float = _weight(0.9, "BM25's k1: how much repetitions of a word count.")
    length: float = _weight(0.3, "BM25's b: how much length lowers the score.")
    context: float = _weight(1.0, "Words in the surrounding passages.")
    meaning: float = _weight(1.0, "Times the cosine and the weight of the embedder's profile.")
    stated: float = _weight(3.0, "Times the meaning of a statement, which is no turn of a conversation.")
    reply: float = _weight(0.8, "The meaning of another speaker's question right before it.")
    pair: float = _weight(0.2, "Two adjacent words of the question that are adjacent here too.")
    phrase: float = _weight(3.0, "A phrase that the question quotes.")
    date: float = _weight(4.0, "A date in the period that the question names; less with each day of distance.")
    name: float = _weight(0.5, "A person whom the question names is its subject or its speaker.")
    asking: float = _weight(-0.6, "The passage is a question itself, and questions rarely answer.")
    saying: float = _weight(0.2, "Times the logarithm of its length.")
    kin: float = _weight(0.4, "A related word in place of a missing word of the question.")
    typo: float = _weight(0.7, "A word that looks like a word of the question that no memory has.")
    tag: float = _weight(1.5, "Times a word of the question that is a tag in the space.")
    alias: float = _weight(0.7, "A word of an alias of a subject that the question names.")
    relevance: float = _weight(
        0.5, "Subtracted as relevance falls from 1 to 0, as it does with time; its rate depends on the kind."
    )
    recency: float = _weight(0.3, "A turn of a conversation of this moment; half as much after a month.")
    current: float = _weight(2.0, "The same for a statement, which may have taken the place of an older one.")
    accessed: float = _weight(0.05, "Times the logarithm of the number of reads, counted up to five.")
    settled: float = _weight(0.1, "Its tier is semantic or procedural.")
    general: float = _weight(-0.5, "A memory of no project, for a caller who has one.")
    foreign: float = _weight(-12.0, "A memory of another project than the caller's.")
    reader: float = _weight(1.25, "Times how well the reader finds that it answers, as a logit.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The weights in use and the stages that are switched off."""

    weights: Weights = field(default_factory=Weights)
    without: frozenset[str] = frozenset()

    def uses(self, stage: str) -> bool:
        """Return whether a stage is on."""
        return stage not in self.without

    @classmethod
    def parse(cls, *, without: str = "", weights: str = "") -> Self:
        """Read the settings: names of stages, and weights as `name=value`, separated by commas."""
        skipped = frozenset(stage.strip().lower() for stage in without.split(",") if stage.strip())
        for stage in sorted(skipped.difference(STAGES)):
            raise InvalidInput(
                f"recall has no stage {stage!r}",
                hint=f"SCRUBJAY_RECALL_WITHOUT names some of {', '.join(STAGES)}",
                setting="SCRUBJAY_RECALL_WITHOUT",
            )
        assignments = dict(_parse_weight(part) for part in weights.split(",") if part.strip())
        return cls(weights=replace(Weights(), **assignments), without=skipped)


def _parse_weight(text: str) -> tuple[str, float]:
    name, _, value = (part.strip() for part in text.partition("="))
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    names = [field.name for field in fields(Weights)]
    if name not in names or not abs(number) <= _MAX_WEIGHT:
        raise InvalidInput(
            f"{text.strip()!r} is not a weight of recall",
            hint=f"SCRUBJAY_RECALL_WEIGHTS is like pair=0.2,recency=0; there are {', '.join(names)}",
            setting="SCRUBJAY_RECALL_WEIGHTS",
        )
    return name, number


_MAX_WEIGHT = 1000.0
