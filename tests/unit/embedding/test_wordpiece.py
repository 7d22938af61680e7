"""The tokenizer gives the ids of the reference implementation for any text."""

import itertools
import string
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from scrubjay.embedding.wordpiece import WordPiece, load_vocabulary, read_vocabulary
from scrubjay.errors import EmbeddingUnavailable

VOCABULARY = load_vocabulary()
OURS = WordPiece(VOCABULARY)
# Characters whose category never changed: the Unicode tables of Python and of the reference differ in age.
STABLE = [
    chr(code)
    for code in itertools.chain(range(0xD800), range(0xE000, 0x30000))
    if unicodedata.category(chr(code)) == unicodedata.ucd_3_2_0.category(chr(code)) != "Cn"
]
EMOJI = ["👍", "👩‍👩‍👧‍👦", "🇩🇪", "❤️", "🏳️‍🌈", "🤷🏽‍♀️", "☕️"]
CONTROLS = [chr(code) for code in (*range(32), 0x7F, 0x85, 0xA0, 0xAD, 0x200B, 0x200D, 0x2028, 0xFEFF, 0xFFFD)]

TRICKY = [
    "",
    " ",
    "Hello, World!",
    "don't won't it's O'Neill's",
    "[CLS] not a mark [SEP], nor [MASK] [UNK] [PAD]",
    "naïve café ÀÉÎÕÜ Ångström",
    "cafe\u0301 e\u0301\u0302\u0323",
    "ΑΣ ΟΔΥΣΣΕΥΣ \u03c2 \u03c3 \u03a3",
    "İstanbul \u0131I ß ẞ ŉ ǰ",
    "我爱北京天安门 and 東京タワー",
    "ひらがなカタカナ漢字まじり",
    "한국어 문장입니다",
    "مرحبا بالعالم שָׁלוֹם",
    "हिन्दी ไทยไม่มีเว้นวรรค",
    "𠮷野家 \U0001d573\U0001d58a 𐐷",
    "\ufb01nance ½ ² ① Ⅷ ℃",
    "a\u200bb\u00adc\ufeffd\x00e\x0bf\x0cg\x85h",
    "tab\there\nand\r\nthere\u2028end\u3000wide",
    "c++ c# node.js foo_bar snake-case a/b\\c <html> {json: [1, 2]} $5.00 50% #tag @me ^~`|",
    "\u2018curly\u2019 \u201cquotes\u201d \u2014 dash… • bullet ¿qué? ¡sí! « guillemets »",
    "x" * 99,
    "x" * 100,
    "x" * 101,
    "é" * 100,
    "é" * 101,
    "antidisestablishmentarianism supercalifragilisticexpialidocious",
    "1234567890 3.14159 1e-9 0xdeadbeef",
    "https://user:pass@example.org:8080/path?q=1&r=%20#frag",
    "\u0301\u0302",
    "!\u0301?",
    "\u037e \u0387 \u1fef \u2260 \u226e",
    " ".join(EMOJI),
    *CONTROLS,
]


@pytest.mark.parametrize("text", TRICKY)
def test_tricky_texts_equal_the_reference(text: str) -> None:
    assert OURS.encode(text) == reference(text)


@settings(max_examples=400, deadline=None)
@given(st.text(st.sampled_from(STABLE), max_size=60))
def test_any_text_equals_the_reference(text: str) -> None:
    assert OURS.encode(text) == reference(text)


WORDS = st.one_of(
    st.text(st.sampled_from(string.ascii_letters + "éüßñç'-_."), min_size=1, max_size=30),
    st.text(st.sampled_from("我爱北京ひらタワ한국"), min_size=1, max_size=6),
    st.sampled_from(EMOJI),
    st.sampled_from(sorted(VOCABULARY)),
    st.tuples(st.sampled_from(["ab", "né", "語", "\u0e44"]), st.integers(1, 120)).map(lambda pair: pair[0] * pair[1]),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(WORDS, max_size=80), st.sampled_from([" ", "", "\n", "\u3000", *CONTROLS]))
def test_long_texts_of_words_equal_the_reference(words: list[str], gap: str) -> None:
    text = gap.join(words)
    assert OURS.encode(text) == reference(text)


def test_a_text_is_cut_at_the_longest_length() -> None:
    ids = OURS.encode("memory " * 1000)
    assert ids == [VOCABULARY["[CLS]"], *[VOCABULARY["memory"]] * 254, VOCABULARY["[SEP]"]]
    assert WordPiece(VOCABULARY, max_tokens=8).encode("memory " * 1000) == [*ids[:7], ids[-1]]


def test_the_end_of_a_huge_text_is_not_processed() -> None:
    head = "ไทย" * 10_000
    assert OURS.encode(head + " and an end") == OURS.encode(head + " and another") == OURS.encode(head)


def test_lone_surrogates_are_dropped() -> None:
    assert OURS.encode("a\ud800b \udfff") == OURS.encode("ab")


def test_a_repeated_word_gets_the_same_ids() -> None:
    assert OURS.encode("Tokenisation tokenisation") == OURS.encode("Tokenisation tokenisation")


def test_the_vocabulary_is_complete() -> None:
    assert len(VOCABULARY) == 30_522
    assert [VOCABULARY[token] for token in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")] == [0, 100, 101, 102, 103]


def test_another_vocabulary_is_refused() -> None:
    with pytest.raises(EmbeddingUnavailable, match="vocabulary is damaged"):
        read_vocabulary(b"[PAD]\n[UNK]\n")


def reference(text: str) -> list[int]:
    return _REFERENCE.encode(text).ids


def _reference() -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(VOCABULARY, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    marks = [(token, VOCABULARY[token]) for token in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=marks)
    tokenizer.enable_truncation(256)
    return tokenizer


_REFERENCE = _reference()
