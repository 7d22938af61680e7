"""How the terms of a space are spelled: the trigrams by which a misspelt one is recognised."""

from collections.abc import Sequence

import apsw

from scrubjay.model.memory import State
from scrubjay.stores.sqlite.rows import lexicon_number, marks, space_number
from scrubjay.text.grams import grams_of

# A trigram that so many terms have tells little: what shares only those with a word is not much like it. In the
# vocabulary of a hundred thousand memories hardly any is so common, and all of a word are looked up.
_COMMON = 3_000
_MOST_VISITED = 10_000
# Of what SQL finds alike, so many are compared exactly.
_MOST_COMPARED = 100


def spell(connection: apsw.Connection, lexicon_no: int, terms: Sequence[str]) -> None:
    """Note the trigrams of terms that are new to a space and state."""
    connection.executemany("INSERT OR IGNORE INTO grams VALUES(?, ?, ?)", _rows(lexicon_no, terms))


def unspell(connection: apsw.Connection, lexicon_no: int, terms: Sequence[str]) -> None:
    """Forget the trigrams of terms that no passage has any more."""
    connection.executemany("DELETE FROM grams WHERE lexicon_no = ? AND gram = ? AND term = ?", _rows(lexicon_no, terms))


def similar_terms(
    connection: apsw.Connection, space: str, term: str, *, state: State, limit: int
) -> list[tuple[str, int]]:
    """The terms that share the most trigrams with one, and how many passages have each."""
    space_no = space_number(connection, space)
    if space_no is None or limit < 1:
        return []
    lexicon_no, grams = lexicon_number(space_no, state), grams_of(term)
    telling = _telling(connection, lexicon_no, sorted(grams))
    rows = connection.execute(
        f"""SELECT alike.term, t.passages
            FROM (SELECT term, count(*) AS common FROM grams WHERE lexicon_no = ? AND gram IN ({marks(telling)})
                  GROUP BY term ORDER BY 1.0 * common / (length(term) + ? - common) DESC LIMIT {_MOST_COMPARED}) alike
            CROSS JOIN terms t ON t.lexicon_no = ? AND t.term = alike.term""",
        (lexicon_no, *telling, len(grams), lexicon_no),
    )
    best = sorted((-_share(grams, grams_of(str(one))), -int(passages), str(one)) for one, passages in rows)
    return [(one, -passages) for _, passages, one in best[:limit]]


def _telling(connection: apsw.Connection, lexicon_no: int, grams: Sequence[str]) -> list[str]:
    """At least one trigram, the rarest first, and as many as few enough terms have each and together."""
    counted: list[tuple[int, str]] = []
    for gram in grams:
        ((count,),) = connection.execute(
            "SELECT count(*) FROM (SELECT 1 FROM grams WHERE lexicon_no = ? AND gram = ? LIMIT ?)",
            (lexicon_no, gram, _COMMON),
        ).fetchall()
        if count:
            counted.append((int(count), gram))
    visited, telling = 0, list[str]()
    for count, gram in sorted(counted):
        visited += count
        if telling and (count == _COMMON or visited > _MOST_VISITED):
            break
        telling.append(gram)
    return telling


def _share(some: frozenset[str], others: frozenset[str]) -> float:
    return len(some & others) / len(some | others)


def _rows(lexicon_no: int, terms: Sequence[str]) -> list[tuple[int, str, str]]:
    # In order, so that rows of one page are written one after the other.
    return sorted((lexicon_no, gram, term) for term in terms for gram in grams_of(term))
