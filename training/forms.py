"""The forms in which memories are written: who said it and when, and names in the place of 'the author' or 'you'."""

import re
from random import Random

NAMES = (
    "Aaron Abby Adele Ahmed Aisha Alan Alice Alma Amir Amy Ana Andre Anita Anton Arthur Asha Astrid Beatriz "
    "Ben Bianca Boris Bruno Camille Carla Carlos Carmen Cecil Celia Chloe Clara Colin Cora Daniel Daria David "
    "Delia Derek Diana Diego Dora Dylan Edgar Elena Eli Elif Emil Emma Enzo Erica Erik Esther Ethan Eva Farid "
    "Fatima Felix Fiona Flora Frank Freya Gabriel Gemma George Greta Hana Hannah Harry Hassan Heidi Helen "
    "Henry Hugo Ibrahim Ida Igor Ines Irene Iris Isaac Ivan Jack Jacob Jade James Jana Jasmine Jean Jenny Joel "
    "Johanna Jonas Jorge Jude Julia Karim Karl Kate Keiko Kenji Kevin Lara Laura Layla Leo Lena Liam Lily "
    "Linda Lorenzo Louis Lucia Luis Luka Lydia Maja Malik Marco Maria Marta Martin Mateo Maya Mehmet Mia Milan "
    "Mila Mina Mohamed Mona Nadia Naomi Nathan Nell Nico Nina Noah Nora Oliver Olga Omar Oscar Otto Pablo Paul "
    "Paula Peter Petra Philip Priya Quentin Rachel Rafael Ravi Rebecca Rita Robert Rosa Ruben Ruth Sam Samira "
    "Sara Sean Simon Sofia Sonia Stella Steve Susan Tara Theo Thomas Tim Tina Tomas Tara Uma Ursula Valeria "
    "Vera Victor Viola Walter Wanda Wendy Will Xenia Yara Yasmin Yuki Yusuf Zara Zoe"
).split()

_MONTHS = "January February March April May June July August September October November December".split()
_ROLE = re.compile(r"\bthe (?:author|reviewer|narrator|poster|writer|speaker|op)\b", re.IGNORECASE)
_WITH_VERB = re.compile(r"\b(are|do|have|were|am) (you|i)\b", re.IGNORECASE)
_PRONOUN = re.compile(r"\b(?:you|i)\b(?!')", re.IGNORECASE)
_POSSESSIVE = re.compile(r"\b(?:your|my)\b", re.IGNORECASE)
_THIRD_PERSON = {"are": "is", "am": "is", "do": "does", "have": "has", "were": "was"}


def split_at_person(question: str) -> tuple[str, str, str, str, str] | None:
    """Split a question where it speaks of its author, of you or me: before, these words, and after.

    The third and fourth part stand around a name that takes their place: a verb in the third person, or a possessive.
    """
    if match := _ROLE.search(question):
        return question[: match.start()], match[0], "", "", question[match.end() :]
    if match := _WITH_VERB.search(question):
        verb = _THIRD_PERSON[match[1].lower()]
        return question[: match.start()], match[0], verb, "", question[match.end() :]
    if match := _PRONOUN.search(question):
        return question[: match.start()], match[0], "", "", question[match.end() :]
    if match := _POSSESSIVE.search(question):
        return question[: match.start()], match[0], "", "'s", question[match.end() :]
    return None


def random_date(random: Random) -> str:
    """Return a date as it stands before a memory."""
    year, month, day = random.randint(2019, 2026), random.randint(1, 12), random.randint(1, 28)
    name = _MONTHS[month - 1]
    clock = f"{random.randint(1, 12)}:{random.randint(0, 59):02} {random.choice(('am', 'pm'))} on "
    return random.choice(
        (
            f"({year}-{month:02}-{day:02})",
            f"({day} {name} {year})",
            f"({day} {name}, {year})",
            f"({clock}{day} {name}, {year})",
            f"({name} {day}, {year})",
            f"[{year}-{month:02}-{day:02}]",
        )
    )
