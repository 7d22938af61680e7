"""Finds words of the private vocabulary, which tests/contract/vocabulary.txt lists; `python -m scripts.vocabulary`."""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORDS = ROOT / "tests" / "contract" / "vocabulary.txt"
_FOLDERS = ("src", "tests", "benchmarks", "scripts", "interop")
# Strings here are word lists and test data: of these folders only docstrings and comments are prose.
_DATA = ("src/scrubjay/text/", "src/scrubjay/extraction/", "src/scrubjay/curation/normal_form.py", "tests/")
# Prose outside of Python files.
_PAGES = (
    "*.md", "docs/**/*.md", "deploy/**/*.*", "src/**/*.sql", "interop/*.toml", "Makefile", "pyproject.toml", ".ci/run",
)  # fmt: skip

# Quicker than a tokenizer, and the same in every version of Python.
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
_FIELD = re.compile(r"\s*\w+: .*[^,]")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words of the list: in any identifier, as a whole variable, in prose, and phrases of prose."""

    parts: frozenset[str]
    variables: frozenset[str]
    prose: frozenset[str]
    phrases: tuple[str, ...]

    def in_name(self, name: str) -> bool:
        """Return whether an identifier has a word of the list."""
        return not self.parts.isdisjoint(part.lower() for part in _PART.findall(name))

    def in_prose(self, text: str) -> list[str]:
        """Return the words and phrases of the list in a text."""
        words = _WORD.findall(text.lower())
        running = f" {' '.join(words)} "
        return sorted(self.prose.intersection(words)) + [phrase for phrase in self.phrases if f" {phrase} " in running]


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A word of the list in a file."""

    file: str
    line: int
    word: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.word}"


@cache
def read_vocabulary() -> Vocabulary:
    """Read the list."""
    sections: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in WORDS.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            lines = sections.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            lines.append(line)
    everywhere, identifiers, variables = (
        frozenset(" ".join(sections[name]).split()) for name in ("everywhere", "identifiers", "variables")
    )
    return Vocabulary(everywhere | identifiers, variables, everywhere, tuple(sections["prose"]))


def find_words(root: Path = ROOT, vocabulary: Vocabulary | None = None) -> list[Place]:
    """Return every place of a word of the list in Python files and pages."""
    chosen = vocabulary or read_vocabulary()
    places: list[Place] = []
    for folder in _FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            file = path.relative_to(root).as_posix()
            if chosen.in_name(path.stem):
                places.append(Place(file, 0, path.stem))
            text = path.read_text(encoding="utf-8")
            places += [
                Place(file, text.count("\n", 0, position) + 1, word)
                for position, word in _python_words(text, chosen, is_data=file.startswith(_DATA))
            ]
    for page in _PAGES:
        for path in sorted(root.glob(page)):
            text = _CODE.sub(lambda code: "\n" * code[0].count("\n") + " ", path.read_text(encoding="utf-8"))
            places += [
                Place(path.relative_to(root).as_posix(), number, word)
                for number, line in enumerate(text.splitlines(), start=1)
                for word in chosen.in_prose(line)
            ]
    return places


def _python_words(text: str, vocabulary: Vocabulary, *, is_data: bool) -> Iterator[tuple[int, str]]:
    """Yield the positions of words in the identifiers, docstrings, comments and messages of a module."""
    # `given` is the decorator of Hypothesis.
    allowed = {"given"} if re.search(r"^from hypothesis import .*\bgiven\b", text, re.MULTILINE) else set[str]()
    for token in _TOKEN.finditer(text):
        position, name, string = token.start(), token["name"], token["string"]
        if name:
            # The name of a test is a sentence.
            is_name = not name.startswith("test_") and vocabulary.in_name(name)
            if is_name or (name in vocabulary.variables - allowed and _is_variable(text, token.start(), token.end())):
                yield position, name
            continue
        prose = token["comment"] or string
        if string:
            if "f" in (token["prefix"] or "").lower():
                fields = [name for part in _PLACEHOLDER.findall(string) for name in _NAME.findall(part)]
                yield from ((position, name) for name in fields if vocabulary.in_name(name))
                prose = _PLACEHOLDER.sub(" ", string)
            begins_line = not text[text.rfind("\n", 0, position) + 1 : position].strip()
            is_docstring = string.startswith('"""') and begins_line and text[token.end()] == "\n"
            if is_data and not is_docstring:
                continue
        yield from ((position, word) for word in vocabulary.in_prose(prose))


def _is_variable(text: str, start: int, end: int) -> bool:
    """Return whether a name is a variable: not an attribute, a keyword or an annotated field."""
    line = text[text.rfind("\n", 0, start) + 1 : text.find("\n", end)]
    is_field = _FIELD.fullmatch(line) and line.split(":")[0].strip() == text[start:end]
    return not (text[start - 1] == "." or (text[end] == "=" and text[end + 1] != "=") or is_field)


def main() -> int:
    """Print the places."""
    places = find_words()
    print(*places, sep="\n")
    return 1 if places else 0


if __name__ == "__main__":
    sys.exit(main())
