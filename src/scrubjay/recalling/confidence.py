"""How likely a hit answers: a value from 0 to 1 that means the same with every embedder, and when none does.

The score of a passage orders the hits of one question and says nothing about another. The confidence is the share of
such hits that answered on development data: a logistic function of four figures that no embedder's scale changes.
"""

import math
from collections.abc import Sequence

from scrubjay.lazy import dataclass
from scrubjay.model.passage import SPOKEN
from scrubjay.ports import Profile
from scrubjay.recalling.collapse import Evidence, RankedMemory
from scrubjay.recalling.fuse import ScoredPassage
from scrubjay.recalling.projects import ProjectOrder
from scrubjay.recalling.query_terms import QueryTerms, idf
from scrubjay.text.languages import ENGLISH

FLOOR = 0.08
"""If no hit reaches it, nothing is relevant. On development data a fortieth of the answers is below it."""
# Beside a relevant hit, statements below this are left out; a turn of a conversation may still be a part of the answer.
_FLOOR_BESIDE = 0.02
# So many of the hits of an answer without a relevant one are shown.
_MAX_WEAK = 2
# Fitted on conversations and on the facts of months, with questions of others among them, which have no answer there:
# the weights of the cosine, of the covered and the unknown part of the question, of the distance to the best score in
# points, and the constant. The second set is for hits of which the cosine says nothing.
_WITH_MEANING = (2.28, 1.75, -0.71, 0.16, -2.76)
_WORDS_ALONE = (0.0, 2.58, -1.16, 0.17, -2.13)
# Where the reader has read a hit: the weights of its logit and of what the other figures say, and the constant.
_READ = (0.5, 0.7, -0.2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The hits that are shown, in their order, with their confidences; if `nothing_relevant`, all of them are weak."""

    memories: list[RankedMemory]
    confidences: list[float]
    nothing_relevant: bool = False


def add_evidence(
    matches: Sequence[RankedMemory], terms: QueryTerms, *, language: str, profile: Profile | None
) -> list[RankedMemory]:
    """Return the matches of a question with what speaks for each."""
    if not matches:
        return []
    counts, passages = terms.statistics.frequencies, terms.statistics.passages
    # A word that no passage has is the rarest of all.
    rarity = {term: idf(passages, counts.get(term, 0)) or math.log(2 * passages + 2) for term in terms.weights}
    total = sum(rarity.values()) or 1.0
    unknown = sum(weight for term, weight in rarity.items() if not counts.get(term)) / total
    reads = profile is not None and (language in ("", ENGLISH) or not profile.is_english)
    words = [(f" {term} ", weight) for term, weight in rarity.items()]

    def weigh(best: ScoredPassage) -> Evidence:
        own, meaning = f" {best.passage.terms} ", None
        if profile is not None and reads:
            meaning = (best.cosine - profile.related) / max(0.01, profile.same - profile.related)
        return Evidence(
            meaning=meaning,
            covered=sum([weight for word, weight in words if word in own]) / total,
            unknown=unknown,
            decides=profile is not None and reads and "same" in profile.measured,
        )

    return [
        RankedMemory(memory=match.memory, best=match.best, entities=match.entities, evidence=weigh(match.best))
        for match in matches
    ]


def judge(matches: Sequence[RankedMemory], *, projects: ProjectOrder, least: float | None) -> Judged:
    """Return the hits that are likely enough to answer; without `least`, at most two weak ones if there are none."""
    best = max((match.best.score for match in matches), default=0.0)
    confidences = [confidence_of(match, best=best, projects=projects) for match in matches]
    # What was not read was found behind all that was.
    read = [each for match, each in zip(matches, confidences, strict=True) if match.best.answers is not None]
    confidences = [
        each if match.best.answers is not None else min([each, *read])
        for match, each in zip(matches, confidences, strict=True)
    ]
    if least is not None:
        return _select(matches, confidences, [confidence >= least for confidence in confidences])
    if not read and not any(match.evidence is not None and match.evidence.decides for match in matches):
        # Words alone, or a model with estimated figures, cannot tell: nothing is held back.
        return _select(matches, confidences, [True] * len(matches))
    if any(confidence >= FLOOR for confidence in confidences):
        unread = confidences
        if read:
            # The reader orders the hits of an answer, and alone leaves out none.
            best = max(match.best.score - match.best.reader for match in matches)
            unread = [confidence_of(match, best=best, projects=projects, reads=False) for match in matches]
        selected = [
            max(confidence, other) >= _FLOOR_BESIDE or (confidence > 0 and bool(match.best.passage.asks & SPOKEN))
            for match, confidence, other in zip(matches, confidences, unread, strict=True)
        ]
        return _select(matches, confidences, selected)
    return Judged(
        memories=list(matches[:_MAX_WEAK]), confidences=confidences[:_MAX_WEAK], nothing_relevant=bool(matches)
    )


def _select(matches: Sequence[RankedMemory], confidences: Sequence[float], selected: Sequence[bool]) -> Judged:
    pairs = [
        pair for pair, is_selected in zip(zip(matches, confidences, strict=True), selected, strict=True) if is_selected
    ]
    return Judged(
        memories=[match for match, _ in pairs],
        confidences=[confidence for _, confidence in pairs],
        nothing_relevant=bool(matches) and not pairs,
    )


def confidence_of(match: RankedMemory, *, best: float, projects: ProjectOrder, reads: bool = True) -> float:
    """Return how likely a match answers, beside another with the best score; `reads`: also by the reader."""
    evidence = match.evidence
    if evidence is None or (projects.is_foreign(match.memory) and projects.means_another(match.memory, match.text)):
        return 0.0
    meaning, covered, unknown, distance, constant = _WORDS_ALONE if evidence.meaning is None else _WITH_MEANING
    logit = (
        meaning * (evidence.meaning or 0.0)
        + covered * evidence.covered
        + unknown * evidence.unknown
        + distance * (match.best.score - (0.0 if reads else match.best.reader) - best)
        + constant
    )
    if reads and match.best.answers is not None:
        logit = _READ[0] * match.best.answers + _READ[1] * logit + _READ[2]
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))
