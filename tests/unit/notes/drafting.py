"""Strategies for notes of every kind, for property tests."""

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from scrubjay.notes.markdown.format import MARKER
from scrubjay.notes.markdown.note import Link, Note

# Characters with a meaning in YAML, in Markdown, in a link or in a file name, and every other one.
WORDS = st.sampled_from(
    [
        "", " ", "\n", "\r\n", "\r", "\t", "---", "---\n", "\n---\n", "...", MARKER, f"\n{MARKER}\n", f"{MARKER} \n",
        "\n\n", "## Links\n", "\n## Observations\n\n- a\n", "- ", "  ", "* x", "[[", "]]", "[[a|b]]", "|", "[", "]",
        "&#93;", "&#", "```\n", "`", "<!--", "-->", "# ", "#", ": ", ":", "a: b", "{", "}", ",", "'", '"', "\\", "%",
        "@", "&a", "*a", "!!python/object:os.system", "!", "?", "yes", "No", "null", "~", "2024-01-01", "1e5", "0x1F",
        "12:30", ".inf", "=", "<<", "\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\ufeff", "\u202e", "\u200f", "\x7f",
        "\x1b", "\ufffe", "\U0001f600", "\u05d0", "e\u0301", "tea", "title", "id: x\n",
    ]
)  # fmt: skip
TEXTS = st.lists(
    WORDS | st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=6), max_size=6
)
texts = TEXTS.map("".join)
# NUL is valid only in quoted YAML.
anything = st.lists(WORDS | st.text(max_size=6), max_size=5).map("".join)
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - the strategy adds the zone
moments = st.none() | st.datetimes(
    min_value=EPOCH - timedelta(days=700_000), max_value=EPOCH + timedelta(days=2_900_000), timezones=st.just(UTC)
)
extras = st.lists(
    st.sampled_from(
        [
            "aliases: [a, b]\n", "# a comment\n", "\n", "cssclass: wide # why\n", "nested:\n  a: 1\n  b: [x, {c: d}]\n",
            "text: |\n  lines\n\n  of it\n", "date: 2024-01-01\n", "'quoted key': 'it''s'\n", "empty:\n", "# last\n",
            "self: &a [*a]\n", "list:\n- a\n-  b # c\n- null\n", "words: two\n  lines\n", "\u00e4: \u00f6\n", "n: 1\n",
            '"j": {"k": [1, 2.5, null]}\n', "folded: >-\n  a\n  b\n",
        ]
    ),
    unique=True, max_size=4,
).map("".join).map(lambda text: text if text.strip() else "")  # fmt: skip
links = st.builds(Link, target=texts, text=texts)
notes = st.builds(
    Note,
    id=anything, title=anything, tags=st.lists(anything, max_size=3).map(tuple), category=anything, kind=anything,
    pinned=st.booleans(), created_at=moments, updated_at=moments, last_reviewed=moments,
    links=st.lists(anything, max_size=3).map(tuple), extra=extras, content=texts,
    observations=st.lists(texts, max_size=3).map(tuple), linked=st.lists(links, max_size=3).map(tuple),
)  # fmt: skip
