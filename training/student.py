"""Trains the encoder: `python -m training.student --corpus C --start model.onnx --out weights.pt --seed 3`."""

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from training.batches import MIX, Batch, BatchPlan, loader
from training.corpus import Corpus
from training.data import FACTS
from training.losses import PAIRS_WEIGHT, total_loss
from training.model import Encoder, Weights, load_weights

Tensor = Any
_INT8_SHARE, _AVERAGED_SHARE = 0.15, 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class StudentPlan:
    """How the encoder is trained."""

    seed: int
    epochs: float = 3.0
    rate: float = 5e-5
    distil: float = 1.0
    negatives: int = 5
    mined_share: float = 0.5
    blocks: int = 6
    block: int = 32
    steps: int = 0
    facts: float = MIX[FACTS]
    fact_pairs: float = PAIRS_WEIGHT
    dropout: float = 0.1
    decay: float = 0.01
    warm_up: float = 0.06
    workers: int = 0


def train(corpus: Corpus, start: Weights, plan: StudentPlan, *, device: str) -> Weights:
    """Train and return the weights, averaged over the last steps."""
    torch.manual_seed(plan.seed)
    model = Encoder(start, dropout=plan.dropout).to(device).train()
    steps = plan.steps or round(plan.epochs * drawn_groups(corpus, facts=plan.facts) / (plan.blocks * plan.block))
    drawn = BatchPlan(
        seed=plan.seed, steps=steps, blocks=plan.blocks, block=plan.block, negatives=plan.negatives,
        mined_share=plan.mined_share, facts=plan.facts,
    )  # fmt: skip
    optimizer, schedule = make_optimizer(model, steps=steps, rate=plan.rate, decay=plan.decay, warm_up=plan.warm_up)
    mean = RunningMean()
    began, losses = time.monotonic(), list[Tensor]()
    for step, cpu_batch in enumerate(loader(corpus, drawn, workers=plan.workers)):
        if step == steps - round(steps * _INT8_SHARE):
            model.simulate_int8(on=True)
        batch = to_device(cpu_batch, device)
        loss = total_loss(encode(model, batch, device=device), batch, distil=plan.distil, facts=plan.fact_pairs)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.detach())
        if step >= steps - max(1, round(steps * _AVERAGED_SHARE)):
            mean.add(model)
        if step % 100 == 0 or step == steps - 1:
            recent = torch.stack(losses[-100:]).mean()
            print(f"step {step} of {steps}, loss {recent:.4f}, {time.monotonic() - began:.0f} s", flush=True)
    return mean.weights


def drawn_groups(corpus: Corpus, *, facts: float = MIX[FACTS]) -> float:
    """Return how many groups an epoch draws."""
    mix = MIX | {FACTS: facts}
    return sum(
        mix.get(str(name), 0.5) * int((corpus.source == number).sum()) for number, name in enumerate(corpus.sources)
    )


def make_optimizer(model: Any, *, steps: int, rate: float, decay: float, warm_up: float) -> tuple[Any, Any]:
    """Return AdamW with a linear schedule; vectors and biases do not decay."""
    parameters = [each for each in model.parameters() if each.requires_grad]
    optimizer = torch.optim.AdamW(
        [
            {"params": [each for each in parameters if each.ndim > 1], "weight_decay": decay},
            {"params": [each for each in parameters if each.ndim <= 1], "weight_decay": 0.0},
        ],
        lr=rate,
        fused=parameters[0].is_cuda,
    )
    first = max(1, round(steps * warm_up))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / first, max(0.0, (steps - step) / max(1, steps - first)))
    )
    return optimizer, schedule


def encode(model: Encoder, batch: Batch, *, device: str) -> Tensor:
    """Return the vectors of all texts of a batch, in their order."""
    with torch.autocast(device.partition(":")[0], dtype=torch.bfloat16, enabled=device != "cpu"):
        vectors = [model(ids, lengths) for ids, lengths in batch.chunks]
    return torch.cat(vectors)[batch.order]


def to_device(batch: Batch, device: str) -> Batch:
    """Move the tensors of a batch."""
    batch.chunks = [(ids.to(device), lengths.to(device)) for ids, lengths in batch.chunks]
    batch.order, batch.scores = batch.order.to(device), batch.scores.to(device)
    batch.ids, batch.also = batch.ids.to(device), batch.also.to(device)
    batch.pairs = {name: (count, scores.to(device)) for name, (count, scores) in batch.pairs.items()}
    return batch


class RunningMean:
    """The mean of a model's weights over steps."""

    def __init__(self) -> None:
        self._sums: Weights = {}
        self._count = 0

    def add(self, model: Any) -> None:
        """Count the model as it is now."""
        self._count += 1
        for name, value in model.state_dict().items():
            if name in self._sums:
                self._sums[name] += value
            else:
                self._sums[name] = value.clone()

    @property
    def weights(self) -> Weights:
        """The mean, on the CPU."""
        return {name: (value / self._count).cpu() for name, value in self._sums.items()}


def main() -> None:
    """Train with the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--start", type=Path, required=True, help="weights to begin with, .onnx or .pt")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--epochs", type=float, default=3.0)
    parser.add_argument("--rate", type=float, default=5e-5)
    parser.add_argument("--distil", type=float, default=1.0)
    parser.add_argument("--negatives", type=int, default=5)
    parser.add_argument("--mined-share", type=float, default=0.5)
    parser.add_argument("--steps", type=int, default=0, help="instead of epochs")
    parser.add_argument("--facts", type=float, default=MIX[FACTS], help="how often each question of the facts is drawn")
    parser.add_argument("--fact-pairs", type=float, default=PAIRS_WEIGHT, help="the weight of the facts' pairs")
    parser.add_argument("--blocks", type=int, default=6)
    parser.add_argument("--workers", type=int, default=0, help="processes that draw batches")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = vars(parser.parse_args())
    corpus, start, out = Corpus.load(options.pop("corpus")), load_weights(options.pop("start")), options.pop("out")
    device = options.pop("device")
    torch.save(train(corpus, start, StudentPlan(**options), device=device), out)


if __name__ == "__main__":
    main()
