"""Whether a text has enough content to be worth finding, and what it lacks if not."""

import re
from dataclasses import replace
from datetime import UTC, datetime

from scrubjay.model.draft import Draft
from scrubjay.model.memory import Flag
from scrubjay.model.rules import Rules
from scrubjay.text.dates.phrases import find_dates
from scrubjay.text.names import names_in
from scrubjay.text.tokens import terms_of

__all__ = ["check_density", "thinness"]

# A character for a word or a syllable counts as so many letters.
_HAN = re.compile("[\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_SYLLABLE = re.compile("[\u3040-\u30ff\uac00-\ud7a3]")
_HAN_LETTERS, _SYLLABLE_LETTERS = 3, 2
_REASON = re.compile(
    r"\b(?:because|since|so that|in order|due to|thanks to|by \w+ing|therefore|why|how|caused|fix(?:ed|es)? by|to avoid"
    "|weil|damit|wegen|denn|parce que|car|pour que|afin|porque|para que|debido|perche|quia|omdat|zodat)\\b"
    "|\u56e0\u4e3a|\u56e0\u6b64|\u7531\u4e8e|\u306e\u3067|\u304b\u3089|\ub54c\ubb38|\u043f\u043e\u0442\u043e\u043c\u0443",
    re.IGNORECASE,
)
# A longer text is not thin.
_MAX_CHECKED = 10_000
_FIRST_PART = 1_000
# Any day will do: the question is only whether the text names one.
_ANY_DAY = datetime(2000, 1, 1, tzinfo=UTC)


def check_density(draft: Draft, *, rules: Rules) -> Draft:
    """Flag or reject a draft that says too little to be useful later."""
    if rules.density == "off":
        return draft
    text = " ".join((draft.text, *draft.observations)).strip()[:_MAX_CHECKED]
    if not draft.text.strip() and draft.name and draft.kind:
        # A named thing: its observations may be short, or there may be none yet.
        return draft.with_decision("density", "named")
    problem = thinness(text, rules=rules)
    if not problem:
        return draft.with_decision("density", "dense")
    if rules.density == "reject":
        reason = f"too thin to be useful later ({problem}): {_advice(draft, text)}"
        return replace(draft, rejected=reason).with_decision("density", "rejected", problem)
    outcome = "reconstruct" if rules.density == "reconstruct" else Flag.THIN
    draft = draft.with_flag(Flag.THIN).with_warning(f"thin ({problem}): {_advice(draft, text)}")
    return draft.with_decision("density", outcome, problem)


def thinness(text: str, *, rules: Rules) -> str:
    """Say why a text is too thin; nothing if it is not."""
    plain = " ".join(text.split())
    size = len(plain) + (_HAN_LETTERS - 1) * len(_HAN.findall(plain))
    size += (_SYLLABLE_LETTERS - 1) * len(_SYLLABLE.findall(plain))
    # A long text mostly has one soon.
    has_words = bool(terms_of(text[:_FIRST_PART]) or terms_of(text[_FIRST_PART:]))
    if size >= rules.least_characters and has_words:
        return ""
    return f"{size} of {rules.least_characters} characters" if has_words else "no word that carries meaning"


def _advice(draft: Draft, text: str) -> str:
    """Say in one sentence what to add."""
    missing: list[str] = []
    if not draft.entities and not names_in(f"{draft.title}. {text}"):
        missing.append("who or what it is about")
    if draft.source.at is None and not find_dates(f"{draft.title} {text}", today=_ANY_DAY):
        missing.append("when it was")
    if not _REASON.search(text):
        missing.append("why or how")
    if not missing:
        return "say more about what follows from it"
    *first, last = missing
    return f"say {', '.join(first)} and {last}" if first else f"say {last}"
