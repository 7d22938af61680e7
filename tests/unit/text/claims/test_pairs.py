"""The label of two statements: the same, a change, a contradiction, or compatible."""

from datetime import UTC, datetime
from itertools import permutations, product

import pytest

from scrubjay.text.claims.pairs import (
    Closeness,
    DatedStatement,
    PairJudgement,
    PairLabel,
    PastQuestion,
    asks_about_past,
    judge_pair,
    may_be_change_or_same,
    may_change,
)

_EARLIER, _LATER = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 9, tzinfo=UTC)


def _judge(
    older: str, newer: str, *, cosine: float | None = 0.7, projects: tuple[str, str] = ("", "")
) -> PairJudgement:
    closeness = Closeness(cosine=cosine, same=0.81, related=0.11, is_nearest=True)
    return judge_pair(
        DatedStatement(text=older, date=_EARLIER, project=projects[0]),
        DatedStatement(text=newer, date=_LATER, project=projects[1]),
        closeness=closeness,
    )


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The weekly report is due on Friday.", "The weekly report is due on Wednesday instead of Friday."),
        ("Petra owns the billing module.", "The billing module no longer belongs to Petra, Anselm has it."),
        ("Unser Zahnarzt ist Herr Kern.", "Herr Kern ist nicht mehr unser Zahnarzt, sondern Frau Abel."),
        ("La reunión semanal es los martes.", "La reunión semanal pasa a los jueves."),
        ("Le cours de piano est le mercredi.", "Le cours de piano est désormais le samedi."),
        ("The marketing budget is 40,000 euros.", "The marketing budget is now 45,000 euros."),
        ("Die Aufbewahrung der Backups dauert 30 Tage.", "Die Aufbewahrung der Backups dauert jetzt 90 Tage."),
        ("Le loyer du bureau est de 900 euros.", "Le loyer du bureau est maintenant de 950 euros."),
    ],
)
def test_a_statement_that_says_so_changes_an_earlier_one(older: str, newer: str) -> None:
    judgement = _judge(older, newer)

    assert judgement.label is PairLabel.CHANGES
    assert judgement.probability >= 0.5


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The staging server runs Ubuntu 22.04.", "The production server runs Ubuntu 22.04."),
        ("Project Atlas is now led by Mira.", "Project Boreas is now led by Jon."),
        ("Since March the gym is closed on Mondays.", "Since March the pool is closed on Tuesdays."),
        ("Backups of the mail server now run at 01:00.", "Backups of the wiki now run at 03:00."),
        ("The access token is valid for 15 minutes.", "The refresh token is valid for 30 days."),
        ("The cleanup job runs at 02:00.", "The report job runs at 06:00."),
        ("I like hiking.", "I like photography."),
        ("We use pytest for tests.", "We use ruff for linting."),
        ("The build took 2 minutes.", "The build took 3 minutes."),
        ("The tool supports Python 3.11.", "The tool supports Python 3.12."),
        ("The old server has 2 disks.", "The new server has 8 disks."),
        ("The iOS app is on version 4.", "The Android app moved to version 6."),
        ("Ada moved to Oslo in 2015.", "Ada moved to Turin in 2021."),
        ("Die Schwester von Jonas wohnt in Graz.", "Der Bruder von Jonas wohnt jetzt in Wien."),
        ("The marketing budget is 40,000 euros.", "The travel budget is now 15,000 euros."),
        ("The retention of logs is 30 days.", "The retention of backups is now 90 days."),
        ("The deadline for the report is Friday.", "The deadline for the invoice is now Monday."),
        ("The mail server has 16 GB of memory.", "The build server has 64 GB of memory now."),
        ("Das Marketingbudget beträgt 40.000 Euro.", "Das Reisebudget beträgt jetzt 15.000 Euro."),
        ("El presupuesto de viajes es de 15.000 euros.", "El presupuesto de formación es ahora de 9.000 euros."),
        ("Le loyer du bureau est de 900 euros.", "Le loyer du garage est maintenant de 80 euros."),
        ("L'affitto della casa è di 900 euro.", "L'affitto del garage ora è di 80 euro."),
    ],
)
def test_what_is_true_together_is_compatible(older: str, newer: str) -> None:
    assert _judge(older, newer).label is PairLabel.COMPATIBLE


def test_a_value_that_excludes_another_contradicts_it() -> None:
    judgement = _judge("The user's manager is Ada.", "The user's manager is Boris.", cosine=0.8)

    assert judgement.label is PairLabel.CONTRADICTS
    assert judgement.differs


def test_other_words_for_the_same_are_the_same() -> None:
    older = "Backups are kept for 30 days in the vault of the depot."
    newer = "The depot's vault keeps backups for thirty days; 30 days in all."

    assert _judge(older, newer, cosine=0.85).label is PairLabel.SAME


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Deploys zijn op donderdag.", "Deploys zijn op dinsdag."),
        ("Wir treffen uns donnerstags.", "Wir treffen uns dienstags."),
        ("Le riunioni sono giovedì.", "Le riunioni sono martedì."),
        ("Os deploys acontecem às quintas-feiras.", "Os deploys acontecem às terças-feiras."),
        ("Die Logs werden nach dreißig Tagen gelöscht.", "Die Logs werden nach neunzig Tagen gelöscht."),
        ("Il contratto scade a marzo.", "Il contratto ora scade a maggio."),
        ("Het contract loopt tot maart.", "Het contract loopt nu tot oktober."),
        ("Las copias se guardan treinta días.", "Las copias ahora se guardan noventa días."),
        ("La llave está en casa del vecino.", "La llave está ahora en casa del portero."),
        ("The spare key is with the neighbour.", "The spare key is with the janitor."),
    ],
)
@pytest.mark.parametrize("cosine", [0.8, 0.95])
def test_another_value_or_word_is_never_the_same_however_near(older: str, newer: str, cosine: float) -> None:
    assert _judge(older, newer, cosine=cosine).label is not PairLabel.SAME
    assert _judge(newer, older, cosine=cosine).label is not PairLabel.SAME


def test_the_spelling_of_a_number_is_no_difference() -> None:
    assert _judge("The build takes 4 minutes.", "The build takes four minutes.", cosine=0.9).label is PairLabel.SAME


def test_facts_of_two_projects_are_compatible() -> None:
    older, newer = "Deploys happen on Thursdays.", "Deploys moved to Tuesdays."

    assert _judge(older, newer).label is PairLabel.CHANGES
    assert _judge(older, newer, projects=("web", "WEB")).label is PairLabel.CHANGES
    assert _judge(older, newer, projects=("web", "api")).label is PairLabel.COMPATIBLE


def test_without_a_model_the_words_decide() -> None:
    assert _judge("Deploys happen on Thursdays.", "Deploys moved to Tuesdays.", cosine=None).label is PairLabel.CHANGES
    assert _judge("Deploys happen on Thursdays.", "Kai moved to Rome.", cosine=None).label is PairLabel.COMPATIBLE


def test_a_document_is_not_judged_as_one_statement() -> None:
    assert _judge("Deploys happen on Thursdays.", "Deploys moved to Tuesdays. " * 100).label is PairLabel.COMPATIBLE


def test_the_scale_of_a_model_begins_at_its_related_cosine() -> None:
    assert Closeness(cosine=0.81, same=0.81, related=0.11).scaled(0.3) == pytest.approx(1.0)
    assert Closeness(cosine=0.05, same=0.81, related=0.11).scaled(0.3) == 0.0
    assert Closeness(cosine=None).scaled(0.3) == 0.3
    assert Closeness(cosine=0.9, same=0.5, related=0.5).scaled(0.3) == 0.3


@pytest.mark.parametrize(
    ("question", "past"),
    [
        ("On which day do deploys happen?", PastQuestion.NO),
        ("What must I check before a deploy?", PastQuestion.NO),
        ("Why was the cache removed?", PastQuestion.PERHAPS),
        ("On which day did deploys happen before the move?", PastQuestion.FORMER),
        ("What was the original limit?", PastQuestion.FORMER),
        ("Wann war das Training früher?", PastQuestion.FORMER),
        ("\u00bfQu\u00e9 d\u00eda era antes la reuni\u00f3n?", PastQuestion.FORMER),
        ("Quel \u00e9tait le loyer avant mars ?", PastQuestion.FORMER),
    ],
)
def test_a_question_about_the_past(question: str, past: PastQuestion) -> None:
    assert asks_about_past(question) is past


def test_words_for_a_change() -> None:
    assert may_change("Wir fahren jetzt nach Rom.")
    assert not may_change("The dog is brown.")


def test_pairs_that_need_no_judgement_are_neither_a_change_nor_the_same() -> None:
    texts = (
        "The weekly report is due on Friday.", "The weekly report is now due on Wednesday.",
        "The weekly report is due Friday", "Since May the report moved to Wednesday.", "Is the report due on Friday?",
        "Petra owns the billing module.", "The billing module no longer belongs to Petra.", "PETRA OWNS BILLING.",
        "Unser Zahnarzt ist nicht mehr Herr Kern.", "The build takes 4 minutes.", "The build takes four minutes.", "",
        "We use pytest for tests. " * 50,
    )  # fmt: skip
    skipped, judged = 0, set[PairLabel]()
    for (older, newer), cosine, is_nearest in product(
        permutations(texts, 2), (None, 0.2, 0.6, 0.8, 0.95), (True, False)
    ):
        closeness = Closeness(cosine=cosine, same=0.81, related=0.11, is_nearest=is_nearest)
        statements = (DatedStatement(text=text, date=_EARLIER) for text in (older, newer))
        label = judge_pair(*statements, closeness=closeness).label
        if may_be_change_or_same(older, newer, closeness=closeness):
            judged.add(label)
        else:
            skipped += 1
            assert label not in (PairLabel.CHANGES, PairLabel.SAME), (older, newer, closeness)
    assert skipped > 300
    assert judged >= {PairLabel.CHANGES, PairLabel.SAME}
