"""The language of a text, its stems and its dates."""

from datetime import UTC, datetime

import pytest

from scrubjay.text.dates.phrases import find_dates
from scrubjay.text.languages import dates_in_english, language_of
from scrubjay.text.names import names_in
from scrubjay.text.tags.suggest import find_phrases
from scrubjay.text.tokens import question_terms, stored_terms

WEDNESDAY = datetime(2026, 5, 13, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The key is under the mat next to the door.", "english"),
        ("Der Schlüssel liegt unter der Matte neben der Tür.", "german"),
        ("Wer holt Lea ab?", "german"),
        ("La clé est sous le paillasson à côté de la porte.", "french"),
        ("La llave está debajo del felpudo, al lado de la puerta.", "spanish"),
        ("La chiave è sotto lo zerbino accanto alla porta.", "italian"),
        ("A chave está debaixo do tapete, ao lado da porta.", "portuguese"),
        ("De sleutel ligt onder de mat naast de deur.", "dutch"),
        ("See ya!", ""),
        ("Write concentrations in mg per kg dry soil, never ppm.", ""),
        ("postgres 17", ""),
        ("", ""),
        ("Моя кошка спит на диване", ""),
        ("我每天早上喝绿茶", ""),
    ],
)
def test_frequent_words_and_letters_tell_the_language(text: str, language: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize(
    ("text", "language", "question"),
    [
        ("Die Mülltonnen stehen im Hof.", "german", "Wo steht die Mülltonne?"),
        ("Les réunions sont le mardi.", "french", "Quand est la réunion ?"),
        ("Las reuniones son los martes.", "spanish", "¿Cuándo es la reunión?"),
        ("Le riunioni sono il martedì.", "italian", "Quando è la riunione?"),
        ("As janelas estão abertas.", "portuguese", "As portas e a janela não estão abertas?"),
        ("De vergaderingen zijn op dinsdag.", "dutch", "Wanneer is de vergadering?"),
    ],
)
def test_a_question_finds_another_form_of_a_word(text: str, language: str, question: str) -> None:
    assert language_of(text) == language_of(question) == language
    terms, others = question_terms(question, language)
    assert set(terms) & set(stored_terms(text, language))
    # A text whose language was not recognized is found by its words as they are written.
    assert set(terms).union(*others.values()) & set(stored_terms(question, ""))


def test_frequent_words_are_no_terms_of_a_question() -> None:
    assert question_terms("Wie viel Luft gehört in die Reifen?", "german").terms == ("luft", "gehort", "reif")


@pytest.mark.parametrize(
    ("text", "language", "first", "last"),
    [
        ("gestern", "german", "2026-05-12", "2026-05-12"),
        ("letzte Woche", "german", "2026-05-04", "2026-05-10"),
        ("vor drei Tagen", "german", "2026-05-10", "2026-05-10"),
        ("vom 1. bis 15. August 2025", "german", "2025-08-01", "2025-08-15"),
        ("am 03.04.2026", "german", "2026-04-03", "2026-04-03"),
        ("la semaine dernière", "french", "2026-05-04", "2026-05-10"),
        ("le 14 juillet 2025", "french", "2025-07-14", "2025-07-14"),
        ("il y a deux jours", "french", "2026-05-11", "2026-05-11"),
        ("hace dos meses", "spanish", "2026-03-01", "2026-03-31"),
        ("el 5 de mayo de 2025", "spanish", "2025-05-05", "2025-05-05"),
        ("la settimana scorsa", "italian", "2026-05-04", "2026-05-10"),
        ("tre giorni fa", "italian", "2026-05-10", "2026-05-10"),
        ("o mês passado", "portuguese", "2026-04-01", "2026-04-30"),
        ("twee dagen geleden", "dutch", "2026-05-11", "2026-05-11"),
        ("last week", "english", "2026-05-04", "2026-05-10"),
    ],
)
def test_dates_of_each_language(text: str, language: str, first: str, last: str) -> None:
    (span,) = find_dates(dates_in_english(text, language), today=WEDNESDAY)
    assert (str(span.start)[:10], str(span.end)[:10]) == (first, _next_day(last))


def test_hints_leave_out_frequent_words() -> None:
    text = "Der Code der Alarmanlage liegt bei Marta Keller, und Der Code gilt seit Mai."
    assert names_in(text) == ("Marta Keller",)
    assert not {phrase.tag for phrase in find_phrases("La reunión es para los clientes")} & {"la", "es", "para", "los"}


def _next_day(day: str) -> str:
    return str(datetime.fromordinal(datetime.fromisoformat(day).toordinal() + 1))[:10]
