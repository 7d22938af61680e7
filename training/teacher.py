"""Trains the cross-encoder that teaches, and scores: `python -m training.teacher --corpus C --start S --out C2`."""

import argparse
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

from training.batches import MIX
from training.corpus import END, START, Corpus, Ragged
from training.mine import question_tokens
from training.model import CrossEncoder, Weights, load_weights
from training.student import drawn_groups, make_optimizer

Tensor = Any
Pair = tuple[NDArray[Any], NDArray[Any]]
_MAX_QUESTION, _MAX_PAIR = 64, 256
_JUDGEMENT_WEIGHT = 0.3
# How many of a group's texts get a score.
_SCORED = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class TeacherPlan:
    """How the cross-encoder is trained."""

    seed: int
    epochs: float = 2.0
    rate: float = 1e-4
    lists: int = 64
    texts: int = 14
    steps: int = 0
    workers: int = 0


@dataclass(frozen=True, slots=True)
class PairChunk:
    """Pairs of similar length: ids, lengths, and 1 where the text stands."""

    ids: Tensor
    lengths: Tensor
    kinds: Tensor

    def to(self, device: str) -> tuple[Tensor, Tensor, Tensor]:
        """Move it."""
        return self.ids.to(device), self.lengths.to(device), self.kinds.to(device)


class ListSource(Dataset[tuple[list[PairChunk], Tensor]]):
    """Lists of texts for a question, the first of which answers it."""

    def __init__(self, corpus: Corpus, plan: TeacherPlan, steps: int) -> None:
        self._corpus, self._plan, self._steps = corpus, plan, steps
        shares = np.array([MIX.get(str(name), 0.5) for name in corpus.sources])[corpus.source]
        self._shares = np.cumsum(shares / shares.sum())

    def __len__(self) -> int:
        return self._steps

    def __getitem__(self, step: int) -> tuple[list[PairChunk], Tensor]:
        random = np.random.default_rng([self._plan.seed, 7, step])
        pairs: list[Pair] = []
        for group in np.searchsorted(self._shares, random.random(self._plan.lists)):
            question = question_tokens(self._corpus, min(int(group), len(self._corpus.positives) - 1))
            pairs += [(question, text) for text in self._texts(int(group), random)]
        return chunk_pairs(pairs)

    def _texts(self, group: int, random: np.random.Generator) -> list[NDArray[Any]]:
        corpus, count = self._corpus, self._plan.texts
        candidates, first = corpus.candidates[group], int(corpus.positives[group])
        positive, others = int(random.choice(candidates[:first])), candidates[first:]
        chosen = [int(text) for text in random.choice(others, size=min(count - 1, len(others)), replace=False)]
        while len(chosen) < count - 1:
            chosen.append(int(random.integers(len(corpus.texts))))
        return [self._written(text) for text in (positive, *chosen)]

    def _written(self, text: int) -> NDArray[Any]:
        return written(self._corpus, text)


def written(corpus: Corpus, text: int) -> NDArray[Any]:
    """Return a text with who said it, as the teacher reads it."""
    by = corpus.by[text]
    return np.concatenate([by, corpus.marks[0], corpus.texts[text]]) if len(by) else corpus.texts[text]


def chunk_pairs(
    pairs: Sequence[Pair], *, tokens: int = 32_768, max_first: int = _MAX_QUESTION
) -> tuple[list[PairChunk], Tensor]:
    """Pad pairs in chunks of similar length; the second value puts them back into order."""
    joined: list[tuple[NDArray[np.int64], int]] = []
    for question, text in pairs:
        first = [START, *question[:max_first].tolist(), END]
        joined.append((np.array([*first, *text[: _MAX_PAIR - len(first) - 1].tolist(), END]), len(first)))
    by_length = np.argsort([len(ids) for ids, _ in joined], kind="stable")
    chunks: list[PairChunk] = []
    start = 0
    while start < len(joined):
        end = start + 1
        while end < len(joined) and (end - start + 1) * len(joined[by_length[end]][0]) <= tokens:
            end += 1
        rows = [joined[at] for at in by_length[start:end]]
        ids = np.zeros((len(rows), -(-len(rows[-1][0]) // 8) * 8), dtype=np.int64)
        kinds = np.zeros_like(ids)
        for row, (tokens_of, first) in enumerate(rows):
            ids[row, : len(tokens_of)] = tokens_of
            kinds[row, first : len(tokens_of)] = 1
        lengths = torch.tensor([len(tokens_of) for tokens_of, _ in rows])
        chunks.append(PairChunk(torch.from_numpy(ids), lengths, torch.from_numpy(kinds)))
        start = end
    order = np.empty(len(joined), dtype=np.int64)
    order[by_length] = np.arange(len(joined))
    return chunks, torch.from_numpy(order)


def train(corpus: Corpus, start: Weights, plan: TeacherPlan, *, device: str) -> CrossEncoder:
    """Train a cross-encoder to put the positive first, and to say of each text whether it answers."""
    torch.manual_seed(plan.seed)
    model = CrossEncoder(start, dropout=0.1).to(device).train()
    steps = plan.steps or round(plan.epochs * drawn_groups(corpus) / plan.lists)
    optimizer, schedule = make_optimizer(model, steps=steps, rate=plan.rate, decay=0.01, warm_up=0.06)
    lists = DataLoader(ListSource(corpus, plan, steps), batch_size=None, num_workers=plan.workers)
    answers = torch.zeros(plan.lists, plan.texts, device=device)
    answers[:, 0] = 1
    began = time.monotonic()
    for step, (chunks, order) in enumerate(lists):
        scores = _scores(model, chunks, device=device)[order.to(device)].view(plan.lists, plan.texts)
        loss = functional.cross_entropy(scores, answers.argmax(dim=1))
        loss = loss + _JUDGEMENT_WEIGHT * functional.binary_cross_entropy_with_logits(scores, answers)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 200 == 0 or step == steps - 1:
            right = (scores.argmax(dim=1) == 0).float().mean()
            spent = time.monotonic() - began
            print(f"step {step} of {steps}, loss {loss:.4f}, right {right:.3f}, {spent:.0f} s", flush=True)
    return model.eval()


class GroupSource(Dataset[tuple[list[PairChunk], Tensor, list[int]]]):
    """The texts of many groups, to be scored."""

    def __init__(self, corpus: Corpus, groups: NDArray[np.int64], *, each: int = 256) -> None:
        self._corpus, self._groups, self._each = corpus, groups, each

    def __len__(self) -> int:
        return math.ceil(len(self._groups) / self._each)

    def __getitem__(self, part: int) -> tuple[list[PairChunk], Tensor, list[int]]:
        corpus = self._corpus
        groups = [int(group) for group in self._groups[part * self._each : (part + 1) * self._each]]
        pairs: list[Pair] = []
        for group in groups:
            question = question_tokens(corpus, group)
            pairs += [(question, written(corpus, int(text))) for text in corpus.candidates[group][:_SCORED]]
        chunks, order = chunk_pairs(pairs, tokens=131_072)
        return chunks, order, groups


def score(corpus: Corpus, model: CrossEncoder, *, device: str, workers: int = 0) -> Corpus:
    """Return the corpus with the teacher's scores for the first texts of each group."""
    rows = [np.full(len(corpus.candidates[group]), np.nan, dtype=np.float32) for group in range(len(corpus.positives))]
    source = GroupSource(corpus, np.arange(len(corpus.positives)))
    for chunks, order, groups in DataLoader(source, batch_size=None, num_workers=workers):
        with torch.inference_mode():
            values = _scores(model, chunks, device=device)[order.to(device)].cpu().numpy()
        start = 0
        for group in groups:
            count = min(_SCORED, len(rows[group]))
            rows[group][:count] = values[start : start + count]
            start += count
    corpus.scores = Ragged.of(rows, np.float32)
    return corpus


def _scores(model: CrossEncoder, chunks: Sequence[PairChunk], *, device: str) -> Tensor:
    with torch.autocast(device, dtype=torch.bfloat16, enabled=device != "cpu"):
        return torch.cat([model(*chunk.to(device)) for chunk in chunks]).float()


def main() -> None:
    """Train and score with the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--start", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="the corpus with the scores")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=float, default=2.0)
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--lists", type=int, default=64)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = vars(parser.parse_args())
    corpus, start, out = Corpus.load(options.pop("corpus")), load_weights(options.pop("start")), options.pop("out")
    device = options.pop("device")
    model = train(corpus, start, TeacherPlan(**options), device=device)
    score(corpus, model, device=device, workers=options["workers"]).save(out)


if __name__ == "__main__":
    main()
