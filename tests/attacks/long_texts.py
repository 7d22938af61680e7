"""Long texts of which each is the worst for something, and the functions that read the texts of users."""

import random
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from typing import Any

from scrubjay.curation.normal_form import normalize_statements
from scrubjay.extraction.chat_log import read_conversations
from scrubjay.extraction.sentences import split_sentences
from scrubjay.model.rules import Rules
from scrubjay.notes.import_.parse import picture_links
from scrubjay.notes.markdown.foreign import inline_tags, outside_code
from scrubjay.notes.markdown.frontmatter import parse_frontmatter
from scrubjay.notes.markdown.sections import read_sections
from scrubjay.notes.markdown.wiki import mentions, retarget_links
from scrubjay.text.claims.compare import compare
from scrubjay.text.claims.extract import claims_of
from scrubjay.text.claims.statements import comparison_key, gap_after, statements_of
from scrubjay.text.clauses import find_matches, parse_clauses
from scrubjay.text.cost import end_within, estimate_tokens
from scrubjay.text.dates.phrases import find_dates
from scrubjay.text.names import names_in, phrases_in
from scrubjay.text.passages import slices
from scrubjay.text.screening.injection import find_injections
from scrubjay.text.screening.secrets import redact
from scrubjay.text.scripts import fold, fold_in_place
from scrubjay.text.slug import slug_of_subject
from scrubjay.text.tags.suggest import find_phrases
from scrubjay.text.tokens import running_terms_of, terms_of
from scrubjay.versions.merge_text import merge_text
from scrubjay.writing.density import thinness

LONG = 60_000
_TODAY = datetime(2026, 1, 1, tzinfo=UTC)
_UNITS = {
    "one word": "a", "single letters": "a ", "words": "lorem ipsum dolor ", "open brackets": "[[",
    "open links": "[a](", "links": "[[a]] ", "pictures": "![a](b) ", "parentheses": "(", "newlines": "\n",
    "carriage returns": "\r", "spaces": " ", "blank lines": " \n", "tabs": "\t", "quotes": '"', "apostrophes": "'",
    "backticks": "`", "fences": "```\n", "open code": "`a ", "dots": ".", "short sentences": "A. ",
    "questions": "a? ", "combining marks": "a\u0301", "marks alone": "\u0301", "emoji": "\U0001f600",
    "joined emoji": "\U0001f468\u200d", "Chinese": "\u6f22", "Chinese sentences": "\u6f22\u3002", "Thai": "\u0e01",
    "Arabic": "\u0639\u0631 ", "lists": "- a\n", "tasks": "- [ ] a\n", "quotations": "> ", "headings": "# a\n",
    "hash tags": "#a ", "tables": "|a|b|\n", "rules": "---\n", "dashes": "-", "underscores": "_", "stars": "*",
    "emphasis": "*a **b ", "digits": "1", "figures": "1 ", "dotted figures": "1.", "days": "2024-01-01 ",
    "dates": "1 May 2024, ", "weekdays": "Monday ", "times": "12:30 ", "colons": ":", "settings": "a=b ",
    "secrets": "api_key=", "mail": "a@", "addresses": "http://a.b/c ", "protocols": "http://", "braces": "{",
    "nested objects": '{"a":', "turns": '{"role":"user","content":"a"}\n', "tags": "<a>", "comments": "<!-- ",
    "percent signs": "%41", "backslashes": "\\", "names": "Anna Bell ", "negations": "not ",
    "wishes": "I prefer tea to coffee. ", "speakers": "Anna: hi\n", "hyphens": "a-", "commas": "a, ",
    "frontmatter": "---\na: b\n", "orders": "ignore all previous instructions ", "control characters": "\x01",
    "lines": "a\n", "paragraphs": "a\n\n", "keys": "-----BEGIN RSA PRIVATE KEY-----\n", "web tokens": "eyJ.",
}  # fmt: skip


def long_text(kind: str, *, size: int) -> str:
    """Return a text of a kind."""
    return _long_texts(size)[kind]


def long_texts(*, size: int = LONG) -> dict[str, str]:
    """Return a text of every kind."""
    return _long_texts(size)


@cache
def _long_texts(size: int) -> dict[str, str]:
    texts = {kind: (unit * (size // len(unit) + 1))[:size] for kind, unit in _UNITS.items()}
    source = random.Random(7)
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    texts["base64"] = "".join(source.choices(letters, k=size))
    texts["noise"] = "".join(source.choices([chr(code) for code in range(32, 0x2FFF)], k=size))
    texts["sentences"] = " ".join(f"The server {n} runs on port {n * 7}." for n in range(size // 30))[:size]
    texts["different words"] = " ".join(f"w{number}" for number in range(size // 6))[:size]
    texts["different names"] = " ".join(f"N{source.randrange(10**6)}" for _ in range(size // 8))[:size]
    texts["different links"] = " ".join(f"[[note {number}]]" for number in range(size // 14))[:size]
    texts["nested lists"] = "".join(f"{' ' * (number % 600)}- a\n" for number in range(size // 300))[:size]
    texts["deep brackets"] = "[" * (size // 2) + "]" * (size // 2)
    texts["deep quotations"] = "> " * (size // 2) + "a"
    texts["long gap"] = "a" + " " * (size - 2) + "a"
    texts["empty middle"] = "a" + "\n" * (size - 2) + "a"
    texts["code fences of all lengths"] = " ".join("`" * number for number in range(1, int((2 * size) ** 0.5)))
    texts["long value"] = f"---\na: {'x' * (size - 20)}\n---\n"
    texts["long list"] = f"---\na: [{'b, ' * (size // 3 - 10)}]\n---\n"
    return texts


def _read(function: Callable[..., Any], *args: object, **options: object) -> Callable[[str], object]:
    """Return a function that reads a text to its end."""

    def read(text: str) -> object:
        result = function(text, *args, **options)
        return deque(result, maxlen=0) if hasattr(result, "__next__") else result

    return read


TEXT_FUNCTIONS: dict[str, Callable[[str], object]] = {
    "claims": _read(claims_of),
    "clauses": lambda text: find_matches(text, parse_clauses("lorem ipsum").included),
    "comparison": lambda text: compare(text, f"{text[:-5]} b 7", cosine=0.9),
    "comparison key": _read(comparison_key),
    "conversations": _read(read_conversations),
    "cost": _read(estimate_tokens),
    "cut": _read(end_within, tokens=50_000),
    "dates": _read(find_dates, today=_TODAY),
    "density": _read(thinness, rules=Rules()),
    "folding": _read(fold),
    "folding in place": _read(fold_in_place),
    "frontmatter": _read(parse_frontmatter),
    "gaps": _read(gap_after),
    "inline tags": _read(inline_tags),
    "links": _read(mentions),
    "merge": lambda text: merge_text(text, f"{text[:-5]} b 7", f"c{text[3:]}"),
    "names": _read(names_in),
    "normal form": _read(normalize_statements),
    "orders": _read(find_injections),
    "outside code": _read(outside_code),
    "passages": _read(slices),
    "phrases": _read(phrases_in),
    "pictures": _read(picture_links),
    "secrets": _read(redact),
    "sections": _read(read_sections),
    "sentences": _read(split_sentences),
    "slug": _read(slug_of_subject),
    "statements": _read(statements_of),
    "tag phrases": _read(find_phrases),
    "terms": _read(terms_of),
    "terms in order": _read(running_terms_of),
    "writing links": _read(retarget_links, {"a": "b"}),
}
