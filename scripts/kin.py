"""Writes src/scrubjay/text/kin.npz: which words are akin, by the meanings that the bundled model gives them.

Run it when the bundled model or the way words become terms changes: `python scripts/kin.py`. It takes some minutes.
"""

import asyncio
import re
from pathlib import Path

import numpy as np
from rich.progress import track

from scrubjay.embedding.minilm import minilm_embedder
from scrubjay.embedding.wordpiece import load_vocabulary
from scrubjay.text.tokens import terms_of

TARGET = Path(__file__).parent.parent / "src" / "scrubjay" / "text" / "kin.npz"
# Words of the model's own vocabulary, which holds the most common ones.
_WORD = re.compile("[a-z]{3,}")
_LEAST = 0.5
_MOST = 20
_PORTION = 256


def main() -> None:
    """Embed every word, compare all, and write down who is near whom."""
    words: dict[str, str] = {}
    for word in load_vocabulary():
        if _WORD.fullmatch(word) and (terms := terms_of(word)):
            # Of several forms the one that comes first is the most common.
            words.setdefault(terms[0], word)
    vectors = asyncio.run(_embedded(list(words.values())))
    near = vectors @ vectors.T
    np.fill_diagonal(near, 0.0)
    best = np.argsort(-near, axis=1)[:, :_MOST]
    closeness = np.take_along_axis(near, best, axis=1)
    stored = closeness >= _LEAST
    np.savez_compressed(
        TARGET,
        terms=np.frombuffer("\n".join(words).encode(), dtype=np.uint8),
        counts=stored.sum(axis=1).astype(np.uint8),
        kin=best[stored].astype(np.uint16),
        closeness=np.round(closeness[stored] * 255).astype(np.uint8),
    )
    print(f"{len(words):,} words, {int(stored.sum()):,} pairs, {TARGET.stat().st_size:,} bytes")


async def _embedded(words: list[str]) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    embedder = minilm_embedder()
    portions = [words[start : start + _PORTION] for start in range(0, len(words), _PORTION)]
    made = [vector for portion in track(portions, "Embedding") for vector in await embedder.embed(portion)]
    await embedder.close()
    return np.stack(made)


if __name__ == "__main__":
    main()
