"""Finds texts that look like answers and are none: `python -m training.mine --corpus C --model W --out C2`.

Among the texts of a question's own source, those next by cosine and those next by words.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from training.batches import chunked
from training.corpus import END, MAX_TOKENS, QUESTION_PARTS, START, Corpus, Ragged
from training.model import Encoder, load_weights

Tensor = Any
# The first ranks are often answers that nobody has marked.
_SKIPPED_BY_COSINE, _SKIPPED_BY_WORDS = 2, 1
_K1, _B = 1.2, 0.75
_QUESTIONS_AT_ONCE = 512


def mine(corpus: Corpus, model: Encoder, *, each: int, device: str, sources: Sequence[str] = ()) -> Corpus:
    """Return the corpus with mined texts in the place of those that it had, and without their scores."""
    mined: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)] * len(corpus.positives)
    texts = encode_all(model, [whole(corpus.texts[text]) for text in range(len(corpus.texts))], device=device)
    questions = [question_tokens(corpus, group) for group in range(len(corpus.positives))]
    vectors = encode_all(model, [whole(question) for question in questions], device=device)
    for number, source in enumerate(corpus.sources):
        groups = np.flatnonzero(corpus.source == number)
        if sources and str(source) not in sources:
            continue
        pool = np.unique(np.concatenate([corpus.candidates[int(group)] for group in groups]))
        own = texts[torch.from_numpy(pool.astype(np.int64)).to(device)]
        words = WordIndex([corpus.texts[int(text)] for text in pool], device=device)
        for start in range(0, len(groups), _QUESTIONS_AT_ONCE):
            part = groups[start : start + _QUESTIONS_AT_ONCE]
            cosines = vectors[torch.from_numpy(part).to(device)] @ own.T
            lexical = words.scores([questions[int(group)] for group in part])
            near = _ranked(cosines, _SKIPPED_BY_COSINE, each), _ranked(lexical, _SKIPPED_BY_WORDS, each)
            for row, group in enumerate(part):
                found = pool[np.concatenate([ranks[row] for ranks in near])]
                mined[int(group)] = _new(corpus, int(group), found)
    return with_mined(corpus, mined)


def with_mined(corpus: Corpus, mined: Sequence[NDArray[np.int64]]) -> Corpus:
    """Return the corpus with other mined texts; where there are none, with what it had."""
    rows: list[NDArray[Any]] = []
    scores: list[NDArray[Any]] = []
    for group, new in enumerate(mined):
        known = int(corpus.positives[group] + corpus.negatives[group])
        rows.append(np.concatenate([corpus.candidates[group][:known], new]) if len(new) else corpus.candidates[group])
        scores.append(np.full(len(new) + known, np.nan) if len(new) else corpus.scores[group])
    corpus.candidates, corpus.scores = Ragged.of(rows, np.int32), Ragged.of(scores, np.float32)
    return corpus


def encode_all(model: Encoder, texts: Sequence[NDArray[np.int64]], *, device: str) -> Tensor:
    """Return the vectors of many texts."""
    vectors: list[Tensor] = []
    model.eval()
    for start in range(0, len(texts), 8192):
        chunks, order = chunked(texts[start : start + 8192], tokens=262_144 if device != "cpu" else 8192)
        with torch.inference_mode(), torch.autocast(device, dtype=torch.bfloat16, enabled=device != "cpu"):
            rows = [model(ids.to(device), lengths.to(device)) for ids, lengths in chunks]
        vectors.append(torch.cat(rows)[order.to(device)])
    return torch.cat(vectors)


def whole(tokens: NDArray[Any]) -> NDArray[np.int64]:
    """Return the tokens of a text between [CLS] and [SEP]."""
    return np.concatenate([[START], tokens[: MAX_TOKENS - 2], [END]]).astype(np.int64)


def question_tokens(corpus: Corpus, group: int) -> NDArray[Any]:
    """Return a question as it was asked."""
    return np.concatenate([corpus.questions[QUESTION_PARTS * group + part] for part in (0, 1, 4)])


class WordIndex:
    """BM25 over word pieces."""

    def __init__(self, texts: Sequence[NDArray[Any]], *, device: str) -> None:
        self._device = device
        lengths = np.array([len(text) for text in texts], dtype=np.float32)
        rows = np.repeat(np.arange(len(texts)), lengths.astype(np.int64))
        keys, counts = np.unique(rows * 65_536 + np.concatenate(list(texts)).astype(np.int64), return_counts=True)
        rows, tokens = keys // 65_536, keys % 65_536
        frequency = np.bincount(tokens, minlength=65_536)
        rarity = np.log(1 + (len(texts) - frequency + 0.5) / (frequency + 0.5))
        norm = _K1 * (1 - _B + _B * lengths / max(1.0, float(lengths.mean())))
        weights = rarity[tokens] * counts * (_K1 + 1) / (counts + norm[rows])
        self._matrix = torch.sparse_coo_tensor(
            torch.tensor(np.stack([rows, tokens])),
            torch.tensor(weights, dtype=torch.float32),
            (len(texts), 65_536),
            check_invariants=True,
        ).to(device)

    def scores(self, questions: Sequence[NDArray[Any]]) -> Tensor:
        """Return the score of every text for each question."""
        asked = torch.zeros(65_536, len(questions), device=self._device)
        for column, question in enumerate(questions):
            asked[torch.tensor(question.astype(np.int64), device=self._device), column] = 1
        return torch.sparse.mm(self._matrix, asked).T


def _ranked(scores: Tensor, skipped: int, count: int) -> NDArray[np.int64]:
    best = scores.topk(min(skipped + count, scores.shape[1]), dim=1).indices
    return best[:, skipped:].cpu().numpy()


def _new(corpus: Corpus, group: int, found: NDArray[Any]) -> NDArray[np.int64]:
    known = set(corpus.candidates[group][: int(corpus.positives[group] + corpus.negatives[group])].tolist())
    return np.array([text for text in dict.fromkeys(found.tolist()) if text not in known], dtype=np.int64)


def main() -> None:
    """Mine with the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="the corpus with what was mined")
    parser.add_argument("--each", type=int, default=10, help="how many by cosine, and as many by words")
    parser.add_argument("--sources", nargs="*", default=(), help="only these; the others keep what they have")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()
    model = Encoder(load_weights(options.model)).to(options.device)
    corpus = Corpus.load(options.corpus)
    mine(corpus, model, each=options.each, device=options.device, sources=options.sources).save(options.out)


if __name__ == "__main__":
    main()
