"""Trains the static table, a vector a token: `python -m training.static --corpus C --model W --out FILE.npz`."""

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from training.batches import Batch, BatchPlan, loader
from training.corpus import END, START, Corpus
from training.losses import total_loss
from training.model import Encoder, Weights, load_weights
from training.student import drawn_groups, encode, make_optimizer, to_device

Tensor = Any
_SPECIAL = (0, START, END)


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticPlan:
    """How the table is trained."""

    seed: int
    width: int = 256
    epochs: float = 4.0
    rate: float = 2e-3
    blocks: int = 12
    block: int = 32
    steps: int = 0
    distil: float = 0.5
    likeness: float = 10.0
    workers: int = 0


class StaticTable(nn.Module):
    """A vector and a weight for each token; the vector of a text is their sum, of unit length."""

    def __init__(self, vectors: Tensor) -> None:
        super().__init__()
        self.vectors = nn.Embedding.from_pretrained(vectors, freeze=False)
        # All tokens count alike at first: softplus of it is 1.
        self.importance = nn.Parameter(torch.full((len(vectors),), 0.5413))
        counted = torch.ones(len(vectors))
        counted[list(_SPECIAL)] = 0
        self.register_buffer("counted", counted)

    def rows(self) -> Tensor:
        """Return what each token adds to a sum."""
        return self.vectors.weight * (functional.softplus(self.importance) * self.counted)[:, None]

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Return a unit vector for each text."""
        del lengths
        weights = functional.softplus(self.importance[ids]) * self.counted[ids]
        return functional.normalize((self.vectors(ids) * weights[:, :, None]).sum(dim=1), dim=1)


def first_vectors(model: Encoder, width: int, *, device: str) -> tuple[Tensor, Tensor]:
    """Return the principal components of the model's vectors of single tokens, and the projection to them."""
    size = model.word.weight.shape[0]
    ids = torch.stack([torch.full((size,), START), torch.arange(size), torch.full((size,), END)], dim=1).to(device)
    with torch.inference_mode():
        parts = [model(part, torch.full((len(part),), 3, device=device)) for part in ids.split(4096)]
    vectors = torch.cat(parts)
    vectors = vectors - vectors.mean(dim=0)
    _, _, directions = torch.linalg.svd(vectors, full_matrices=False)
    projection = directions[:width].T
    return (vectors @ projection).clone(), projection.clone()


def train(corpus: Corpus, weights: Weights, plan: StaticPlan, *, device: str) -> StaticTable:
    """Train a table to rank as the data says and to find alike what the model finds alike."""
    torch.manual_seed(plan.seed)
    model = Encoder(weights).to(device).eval()
    vectors, _ = first_vectors(model, plan.width, device=device)
    table = StaticTable(vectors).to(device)
    steps = plan.steps or round(plan.epochs * drawn_groups(corpus) / (plan.blocks * plan.block))
    drawn = BatchPlan(seed=plan.seed, steps=steps, blocks=plan.blocks, block=plan.block)
    optimizer, schedule = make_optimizer(table, steps=steps, rate=plan.rate, decay=0.0, warm_up=0.06)
    began = time.monotonic()
    for step, cpu_batch in enumerate(loader(corpus, drawn, workers=plan.workers)):
        batch = to_device(cpu_batch, device)
        with torch.no_grad():
            wanted = encode(model, batch, device=device)
        found = torch.cat([table(ids, lengths) for ids, lengths in batch.chunks])[batch.order]
        loss = total_loss(found, batch, distil=plan.distil) + plan.likeness * _likeness(found, wanted, batch)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 100 == 0 or step == steps - 1:
            print(f"static: step {step} of {steps}, loss {loss:.4f}, {time.monotonic() - began:.0f} s", flush=True)
    return table


def _likeness(found: Tensor, wanted: Tensor, batch: Batch) -> Tensor:
    """Return how far the cosines of the table are from those of the model, between the first texts of a batch."""
    count = 2 * batch.groups
    return functional.mse_loss(found[:count] @ found[:count].T, (wanted[:count] @ wanted[:count].T).float())


def save(table: StaticTable, file: Path) -> None:
    """Write the table as int8: `q` (a row a token) and `s` (the scale of each row)."""
    rows = table.rows().detach().cpu().numpy()
    scale = np.abs(rows).max(axis=1) / 127
    quantized = np.round(rows / np.maximum(scale, 1e-12)[:, None]).astype(np.int8)
    np.savez_compressed(file, q=quantized, s=scale.astype(np.float16))


def main() -> None:
    """Train with the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True, help="the encoder whose cosines it learns")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=float, default=4.0)
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--blocks", type=int, default=12)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--likeness", type=float, default=10.0)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = vars(parser.parse_args())
    corpus, weights, out = Corpus.load(options.pop("corpus")), load_weights(options.pop("model")), options.pop("out")
    device = options.pop("device")
    save(train(corpus, weights, StaticPlan(**options), device=device), out)


if __name__ == "__main__":
    main()
