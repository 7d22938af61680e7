"""What a text costs a real model: counted with a published tokenizer, which is only read, never imported."""

import importlib.util
from functools import cache
from pathlib import Path

from tokenizers import Tokenizer


def tokens(text: str) -> int:
    """How many tokens a text has."""
    return len(_tokenizer().encode(text).ids)


@cache
def _tokenizer() -> Tokenizer:
    found = importlib.util.find_spec("anthropic")
    assert found is not None
    assert found.origin is not None
    return Tokenizer.from_file(str(Path(found.origin).with_name("tokenizer.json")))
