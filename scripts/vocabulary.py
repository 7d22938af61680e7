"""Counts the words of the private vocabulary, and compares them with tests/contract/vocabulary.txt.

`python -m scripts.vocabulary` lists the words that are left; `--write` lowers the bounds to the present counts.
Only an editor can raise a bound.
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BOUNDS = ROOT / "tests" / "contract" / "vocabulary.txt"
FOLDERS = ("src", "tests", "benchmarks", "scripts", "interop")
# Prose outside of Python files.
_PAGES = (
    "*.md", "docs/**/*.md", "deploy/**/*.*", "src/**/*.sql", "interop/*.toml", "Makefile", "pyproject.toml", ".ci/run",
)  # fmt: skip
# Strings here are word lists and test data: of these folders only docstrings and comments are prose.
_DATA = ("src/scrubjay/text/", "src/scrubjay/extraction/", "tests/")

# Faster than a tokenizer, and the same in every version of Python.
_TOKEN = re.compile(
    r"(?P<prefix>\b[rbfuRBFU]{1,2}(?=[\"']))?"
    r'(?P<string>"""(?:\\.|[^\\])*?"""|\'\'\'(?:\\.|[^\\])*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')'
    r"|(?P<comment>\#[^\n]*)|(?P<name>[A-Za-z_]\w*)",
    re.DOTALL,
)
_PLACEHOLDER = re.compile(r"\{[^{}]*\}")
_NAME = re.compile(r"[A-Za-z_]\w*")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_WORD = re.compile(r"[a-z]+")
# Code in Markdown, and names such as those of options: no prose.
_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`|\w+[_/]\w[\w/.]*", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """How often a word may occur in identifiers and in prose; None where it is not counted.

    `=word` is an identifier as a whole, `word` any part of one; several words are a phrase of prose.
    """

    word: str
    identifiers: int | None
    prose: int | None

    @property
    def line(self) -> str:
        """The bound as a line of the file."""
        counts = ("-" if count is None else str(count) for count in (self.identifiers, self.prose))
        return " ".join((*(f"{count:>7}" for count in counts), f" {self.word}"))

    def exceeds(self, bound: "Bound") -> bool:
        """Return whether one of these counts is above a bound."""
        pairs = ((self.identifiers, bound.identifiers), (self.prose, bound.prose))
        return any((count or 0) > (limit or 0) for count, limit in pairs)


@dataclass(frozen=True, slots=True)
class Counts:
    """How often each identifier, each part of an identifier and each word of prose occurs; and the prose itself."""

    names: Counter[str]
    parts: Counter[str]
    words: Counter[str]
    prose: str

    def of(self, bound: Bound) -> Bound:
        """Return the counts of the word of a bound."""
        word = bound.word
        names = self.names[word[1:]] if word.startswith("=") else self.parts[word]
        prose = self.prose.count(f" {word} ") if " " in word else self.words[word]
        return replace(
            bound,
            identifiers=None if bound.identifiers is None else names,
            prose=None if bound.prose is None else prose,
        )


def read_bounds() -> tuple[Bound, ...]:
    """Read the bounds of the file."""
    rows = (line.split(maxsplit=2) for line in _lines() if line.strip() and not line.startswith("#"))
    return tuple(
        Bound(word=word.strip(), identifiers=_count(names), prose=_count(prose)) for names, prose, word in rows
    )


def measure(bounds: Iterable[Bound], *, root: Path = ROOT) -> tuple[Bound, ...]:
    """Count each word."""
    counts = count_words(root)
    return tuple(counts.of(bound) for bound in bounds)


@cache
def count_words(root: Path = ROOT) -> Counts:
    """Read every Python file and page once."""
    names: Counter[str] = Counter()
    prose: list[str] = []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            name = path.relative_to(root).as_posix()
            identifiers, texts = _read(path.read_text(encoding="utf-8"), is_data=name.startswith(_DATA))
            names.update(identifiers)
            names[path.stem] += 1
            prose += texts
    prose += [
        _CODE.sub(" ", path.read_text(encoding="utf-8")) for pattern in _PAGES for path in sorted(root.glob(pattern))
    ]
    parts: Counter[str] = Counter()
    for name, count in names.items():
        for part in {part.lower() for part in _PART.findall(name)}:
            parts[part] += count
    running = " ".join(word for text in prose for word in (*_WORD.findall(text.lower()), "."))
    return Counts(names=names, parts=parts, words=Counter(running.split()), prose=f" {running} ")


def _read(text: str, *, is_data: bool) -> tuple[Counter[str], list[str]]:
    """Return the identifiers of a module, and its docstrings, comments and messages."""
    names: Counter[str] = Counter()
    prose: list[str] = []
    for token in _TOKEN.finditer(text):
        if token["name"]:
            # The name of a test is a sentence.
            names[token["name"]] += not token["name"].startswith("test_")
        elif token["comment"]:
            prose.append(token["comment"])
        else:
            string = token["string"]
            if "f" in (token["prefix"] or "").lower():
                names.update(name for part in _PLACEHOLDER.findall(string) for name in _NAME.findall(part))
                string = _PLACEHOLDER.sub(" ", string)
            begins_line = not text[text.rfind("\n", 0, token.start()) + 1 : token.start()].strip()
            is_docstring = string.startswith('"""') and begins_line
            if is_docstring or not is_data:
                prose.append(string)
    if re.search(r"^from hypothesis import .*\bgiven\b", text, re.MULTILINE):
        # `given` is the decorator of Hypothesis.
        del names["given"]
    return names, prose


def _count(text: str) -> int | None:
    return None if text == "-" else int(text)


def _lines() -> list[str]:
    return BOUNDS.read_text(encoding="utf-8").splitlines()


def _lowered(measured: Iterable[Bound]) -> Iterator[str]:
    """Yield the lines of the file, with lower bounds where possible."""
    bounds = {bound.word: bound for bound in read_bounds()}
    left = {bound.word: bound for bound in measured if not bound.exceeds(bounds[bound.word])}
    for line in _lines():
        word = line.split(maxsplit=2)[2].strip() if line.strip() and not line.startswith("#") else ""
        yield left[word].line if word in left else line


def main() -> int:
    """Print the words that are left, and with `--write` lower the bounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="lower the bounds to the present counts")
    options = parser.parse_args()
    bounds = read_bounds()
    measured = measure(bounds)
    if options.write:
        BOUNDS.write_text("\n".join(_lowered(measured)) + "\n", encoding="utf-8")
    is_above = False
    for now, bound in zip(measured, bounds, strict=True):
        if now.exceeds(bound):
            is_above = True
            print(f"{now.line}  is above its bound:{bound.line}")
        elif now.identifiers or now.prose:
            print(now.line if now == bound else f"{now.line}  can be lowered from{bound.line}")
    return 1 if is_above else 0


if __name__ == "__main__":
    sys.exit(main())
