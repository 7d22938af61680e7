"""Whether a text says enough to be worth finding, and what it lacks when it does not."""

import re
from dataclasses import replace
from datetime import UTC, datetime

from scrubjay.model.draft import Draft
from scrubjay.model.memory import Flag
from scrubjay.model.rules import Rules
from scrubjay.text.dates.phrases import find_dates
from scrubjay.text.names import names_in
from scrubjay.text.tokens import terms_of

__all__ = ["thinness", "weigh"]

# A character that is a word or a syllable says as much as these many letters.
_HAN = re.compile("[\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_SYLLABLE = re.compile("[\u3040-\u30ff\uac00-\ud7a3]")
_HAN_WORTH, _SYLLABLE_WORTH = 3, 2
_REASON = re.compile(
    r"\b(?:because|since|so that|in order|due to|thanks to|by \w+ing|therefore|why|how|caused|fix(?:ed|es)? by|to avoid"
    "|weil|damit|wegen|denn|parce que|car|pour que|afin|porque|para que|debido|perche|quia|omdat|zodat)\\b"
    "|\u56e0\u4e3a|\u56e0\u6b64|\u7531\u4e8e|\u306e\u3067|\u304b\u3089|\ub54c\ubb38|\u043f\u043e\u0442\u043e\u043c\u0443",
    re.IGNORECASE,
)
# Whatever is longer is not thin.
_LOOKED_AT = 10_000
# Any day does: it is only asked whether the text names one.
_SOME_DAY = datetime(2000, 1, 1, tzinfo=UTC)


def weigh(draft: Draft, *, rules: Rules) -> Draft:
    """A draft that is flagged, or refused, if it says too little to be of use later."""
    if rules.density == "off":
        return draft
    text = " ".join((draft.text, *draft.observations)).strip()[:_LOOKED_AT]
    if not draft.text.strip() and draft.name and draft.kind:
        # Something that has a name: each thing that is known of it may be short, or nothing may be known yet.
        return draft.with_decision("density", "named")
    found = thinness(text, rules=rules)
    if not found:
        return draft.with_decision("density", "dense")
    if rules.density == "reject":
        reason = f"too thin to be of use later ({found}): {_lacking(draft, text)}"
        return replace(draft, rejected=reason).with_decision("density", "rejected", found)
    outcome = "reconstruct" if rules.density == "reconstruct" else Flag.THIN
    draft = draft.with_flag(Flag.THIN).with_warning(f"thin ({found}): {_lacking(draft, text)}")
    return draft.with_decision("density", outcome, found)


def thinness(text: str, *, rules: Rules) -> str:
    """In what a text is too thin, in words; nothing if it is not."""
    size, has_words = _size(text), bool(terms_of(text))
    if size >= rules.least_characters and has_words:
        return ""
    return f"{size} of {rules.least_characters} characters" if has_words else "no word that carries meaning"


def _size(text: str) -> int:
    plain = " ".join(text.split())
    more = (_HAN_WORTH - 1) * len(_HAN.findall(plain)) + (_SYLLABLE_WORTH - 1) * len(_SYLLABLE.findall(plain))
    return len(plain) + more


def _lacking(draft: Draft, text: str) -> str:
    """What to add, in one sentence."""
    missing: list[str] = []
    if not draft.entities and not names_in(f"{draft.title}. {text}"):
        missing.append("who or what it is about")
    if draft.source.at is None and not find_dates(f"{draft.title} {text}", today=_SOME_DAY):
        missing.append("when it was")
    if not _REASON.search(text):
        missing.append("why or how")
    if not missing:
        return "say more about what follows from it"
    *first, last = missing
    return f"say {', '.join(first)} and {last}" if first else f"say {last}"
