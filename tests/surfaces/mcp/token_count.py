"""The tokens of a text for a real model, by the tokenizer file of a package that is never imported."""

import importlib.util
from functools import cache
from pathlib import Path

from tokenizers import Tokenizer


def count_tokens(text: str) -> int:
    """Return the number of tokens of a text."""
    return len(_tokenizer().encode(text).ids)


@cache
def _tokenizer() -> Tokenizer:
    spec = importlib.util.find_spec("anthropic")
    assert spec is not None
    assert spec.origin is not None
    return Tokenizer.from_file(str(Path(spec.origin).with_name("tokenizer.json")))
