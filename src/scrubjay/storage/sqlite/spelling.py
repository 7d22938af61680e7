"""The trigrams of terms, by which a misspelt term is recognised."""

from collections.abc import Sequence

import apsw

from scrubjay.model.memory import State
from scrubjay.storage.sqlite.rows import lexicon_number, marks, space_number
from scrubjay.text.grams import grams_of

# A trigram of so many terms selects too little. In the vocabulary of a hundred thousand memories hardly any is so
# common, and all trigrams of a word are looked up.
_COMMON = 3_000
_MAX_VISITED = 10_000
# Of the terms that SQL ranks highest, so many are compared exactly.
_MAX_COMPARED = 100


def spell(connection: apsw.Connection, lexicon_no: int, terms: Sequence[str]) -> None:
    """Store the trigrams of terms that are new to a lexicon."""
    connection.executemany("INSERT OR IGNORE INTO trigrams VALUES(?, ?, ?)", _rows(lexicon_no, terms))


def unspell(connection: apsw.Connection, lexicon_no: int, terms: Sequence[str]) -> None:
    """Delete the trigrams of terms that no passage has any more."""
    connection.executemany(
        "DELETE FROM trigrams WHERE lexicon_no = ? AND trigram = ? AND term = ?", _rows(lexicon_no, terms)
    )


def similar_terms(
    connection: apsw.Connection, space: str, term: str, *, state: State, limit: int
) -> list[tuple[str, int]]:
    """Return the terms that share the most trigrams with a term, and how many passages have each."""
    space_no = space_number(connection, space)
    if space_no is None or limit < 1:
        return []
    lexicon_no, trigrams = lexicon_number(space_no, state), grams_of(term)
    selective = _selective(connection, lexicon_no, sorted(trigrams))
    rows = connection.execute(
        f"""SELECT alike.term, t.passage_count
            FROM (SELECT term, count(*) AS common FROM trigrams
                  WHERE lexicon_no = ? AND trigram IN ({marks(selective)})
                  GROUP BY term ORDER BY 1.0 * common / (length(term) + ? - common) DESC LIMIT {_MAX_COMPARED}) alike
            CROSS JOIN terms t ON t.lexicon_no = ? AND t.term = alike.term""",
        (lexicon_no, *selective, len(trigrams), lexicon_no),
    )
    ranked = sorted(
        (-_similarity(trigrams, grams_of(str(candidate))), -int(count), str(candidate)) for candidate, count in rows
    )
    return [(candidate, -count) for _, count, candidate in ranked[:limit]]


def _selective(connection: apsw.Connection, lexicon_no: int, trigrams: Sequence[str]) -> list[str]:
    """Return the rarest trigrams: at least one, and as many as few enough terms have, each and together."""
    counts: list[tuple[int, str]] = []
    for trigram in trigrams:
        ((count,),) = connection.execute(
            "SELECT count(*) FROM (SELECT 1 FROM trigrams WHERE lexicon_no = ? AND trigram = ? LIMIT ?)",
            (lexicon_no, trigram, _COMMON),
        ).fetchall()
        if count:
            counts.append((int(count), trigram))
    visited, selective = 0, list[str]()
    for count, trigram in sorted(counts):
        visited += count
        if selective and (count == _COMMON or visited > _MAX_VISITED):
            break
        selective.append(trigram)
    return selective


def _similarity(trigrams: frozenset[str], others: frozenset[str]) -> float:
    return len(trigrams & others) / len(trigrams | others)


def _rows(lexicon_no: int, terms: Sequence[str]) -> list[tuple[int, str, str]]:
    # In order, so that the rows of a page are written one after the other.
    return sorted((lexicon_no, trigram, term) for term in terms for trigram in grams_of(term))
