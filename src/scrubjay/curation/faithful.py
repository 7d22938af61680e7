"""The nothing-lost check: an answer may say what it was given in other words, and must say all of it, and no more."""

import re
from collections.abc import Sequence

from scrubjay.text.claims import added, claims_of, lost
from scrubjay.text.tokens import running_terms_of

# Other words for the same: so many of a text's words may be new, so many of what it was given may be gone.
_MOST_NEW = 0.2
_MOST_GONE = 0.15
# Of each single sentence at least so much must come back, however long the rest is.
_LEAST_OF_A_SENTENCE = 0.6
_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")
_CAPITAL = re.compile(r"\b[A-Z][\w-]*")
_SHOWN = 3


def unfaithful(inputs: Sequence[str], output: str, *, beside: Sequence[str] = ()) -> str:
    """Why an answer is not what it was given, for people; empty when it is.

    All of `inputs` must be in it, and nothing that is neither there nor in `beside`.
    """
    if not output.strip():
        return "it is empty"
    if missing := lost(inputs, output):
        return f"it lost {_few(missing)}"
    if invented := added((*inputs, *beside), output):
        return f"it invented {_few(invented)}"
    if why := _turned_round(inputs, output, beside=beside):
        return why
    said = set(running_terms_of(output))
    given = {term for text in inputs for term in running_terms_of(text)}
    known = given.union(*(running_terms_of(text) for text in beside))
    # What has a capital letter may be a name, also where a sentence begins: that must be there as it is.
    if gone := _capitals(*inputs) - said:
        return f"it lost {_few(sorted(gone))}"
    if new := _capitals(output) - known:
        return f"it invented {_few(sorted(new))}"
    if len(gone := given - said) > _MOST_GONE * len(given):
        return f"it lost the words {_few(sorted(gone))}"
    if len(new := said - known) > _MOST_NEW * len(said):
        return f"it brought the words {_few(sorted(new))}"
    return _lost_sentence(inputs, said)


def _turned_round(inputs: Sequence[str], output: str, *, beside: Sequence[str]) -> str:
    """Whether something is denied that was not, or the other way round, as far as counting tells."""
    given = [one for text in inputs for one in claims_of(text).negations]
    near = [one for text in beside for one in claims_of(text).negations]
    said = claims_of(output).negations
    if len(said) > len(given) + len(near):
        return f"it invented negation: not {said[-1]}"
    return f"it lost negation: not {given[-1]}" if len(said) < len(set(given)) else ""


def _capitals(*texts: str) -> set[str]:
    return {term for text in texts for word in _CAPITAL.findall(text) for term in running_terms_of(word)}


def _lost_sentence(inputs: Sequence[str], said: set[str]) -> str:
    for text in inputs:
        for sentence in _SENTENCES.split(text):
            terms = set(running_terms_of(sentence))
            if terms and len(terms & said) < _LEAST_OF_A_SENTENCE * len(terms):
                return f"it lost the words {_few(sorted(terms - said))}"
    return ""


def _few(found: Sequence[str]) -> str:
    shown = ", ".join(one[:60] for one in found[:_SHOWN])
    return f"{shown} and {len(found) - _SHOWN} more" if len(found) > _SHOWN else shown
