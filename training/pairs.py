"""Trains the pair model: `python -m training.pairs --corpus C --facts D --start encoder --out pairs.pt`.

One trunk reads two texts together. On its first token are two heads: what the later of two statements does to the
earlier one, and how well a text answers a question. The vectors of words are the encoder's and stay as they are.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader

from training.corpus import Corpus
from training.mine import encode_all, whole
from training.model import Encoder, Weights, load_weights
from training.pair_data import LABELS, FactData, PairBatch, PairPlan, PairSource, tokens_of
from training.student import RunningMean, make_optimizer
from training.teacher import PairChunk

Tensor = Any
WORDS = "encoder.word.weight"
"""The encoder's vectors of words, which are not among the weights that are saved."""

_INT8_SHARE, _AVERAGED_SHARE = 0.15, 0.2
_JUDGEMENT_WEIGHT, _HARD_SHARE = 0.3, 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class PairTraining:
    """How the pair model is trained; `layers` are those of the encoder that it begins with."""

    seed: int
    layers: tuple[int, ...] = (0, 1, 3, 5)
    steps: int = 2400
    rate: float = 1e-4
    dropout: float = 0.1
    reader: float = 1.0
    lists: int = 24
    workers: int = 0


class PairModel(nn.Module):
    """A cross-encoder with two heads. Its weights alone tell its shape."""

    def __init__(self, weights: Weights, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.encoder = Encoder(_part(weights, "encoder."), dropout=dropout)
        self.encoder.word.weight.requires_grad_(requires_grad=False)
        width = weights[WORDS].shape[1]
        self.dropout = nn.Dropout(dropout)
        self.classes, self.answers = nn.Linear(width, len(LABELS)), nn.Linear(width, 1)
        for name, head in (("classes", self.classes), ("answers", self.answers)):
            if f"{name}.weight" in weights:
                head.load_state_dict(_part(weights, f"{name}."))
            else:
                # The same for all seeds, so that the mean of several models is one.
                nn.init.normal_(head.weight, std=0.02, generator=torch.Generator().manual_seed(len(name)))
                nn.init.zeros_(head.bias)

    def forward(self, ids: Tensor, lengths: Tensor, kinds: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logits of the labels and the score of an answer for each pair."""
        first = self.dropout(self.encoder.tokens(ids, lengths, kinds)[:, 0]).float()
        with torch.autocast(first.device.type, enabled=False):
            return self.classes(first), self.answers(first).squeeze(1)


def _part(weights: Weights, prefix: str) -> Weights:
    return {name.removeprefix(prefix): each.float() for name, each in weights.items() if name.startswith(prefix)}


def begin(start: Weights, layers: Sequence[int]) -> Weights:
    """Return weights to begin with: some layers of an encoder, and its vectors of words as int8 keeps them."""
    own = {name: each.float() for name, each in start.items() if not name.startswith("layers.")}
    own["word.weight"] = rounded_words(own["word.weight"])
    for new, old in enumerate(layers):
        own |= {f"layers.{new}.{name}": each for name, each in _part(start, f"layers.{old}.").items()}
    return {f"encoder.{name}": each for name, each in own.items()}


def rounded_words(words: Tensor) -> Tensor:
    """Return the vectors of words as the exported encoder has them."""
    scale = words.abs().amax(dim=1, keepdim=True).clamp(min=1e-8) / 127
    return torch.round(words / scale) * scale


def save(weights: Weights, file: Path) -> None:
    """Write the weights that are the pair model's own, in half precision."""
    torch.save({name: each.half() for name, each in weights.items() if name != WORDS}, file)


def load(file: Path, encoder: Weights) -> Weights:
    """Read what `save` wrote; the vectors of words come from the encoder."""
    weights = {name: each.float() for name, each in load_weights(file).items()}
    return weights | {WORDS: rounded_words(encoder["word.weight"].float())}


def train(
    corpus: Corpus,
    facts: FactData,
    start: Weights,
    plan: PairTraining,
    *,
    device: str,
    teachers: Sequence[Weights] = (),
) -> Weights:
    """Train and return the weights, averaged over the last steps; teachers are deeper pair models."""
    torch.manual_seed(plan.seed)
    add_neighbours(facts, start, device=device)
    model = PairModel(begin(start, plan.layers), dropout=plan.dropout).to(device).train()
    taught_by = [PairModel(teacher).to(device).eval() for teacher in teachers]
    optimizer, schedule = make_optimizer(model, steps=plan.steps, rate=plan.rate, decay=0.01, warm_up=0.06)
    source = PairSource(corpus, facts, PairPlan(seed=plan.seed, steps=plan.steps, lists=plan.lists))
    batches = DataLoader(
        source, batch_size=None, num_workers=plan.workers, prefetch_factor=4 if plan.workers else None
    )  # fmt: skip
    mean, parts, began = RunningMean(), list[Tensor](), time.monotonic()
    for step, on_cpu in enumerate(batches):
        if step == plan.steps - round(plan.steps * _INT8_SHARE):
            model.encoder.simulate_int8(on=True)
        batch = on_cpu.to(device)
        losses = pair_losses(model, batch, device=device, taught_by=taught_by)
        loss = losses[0] + plan.reader * losses[1]
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        parts.append(torch.stack(losses).detach())
        if step >= plan.steps - max(1, round(plan.steps * _AVERAGED_SHARE)):
            mean.add(model)
        if step % 200 == 0 or step == plan.steps - 1:
            recent = torch.stack(parts[-100:]).mean(dim=0).tolist()
            spent = time.monotonic() - began
            print(f"pairs: step {step} of {plan.steps}, {recent[0]:.4f} and {recent[1]:.4f}, {spent:.0f} s", flush=True)
    return mean.weights


def add_neighbours(facts: FactData, encoder: Weights, *, device: str) -> None:
    """Let an encoder find the neighbours of the statements and of the questions."""
    model = Encoder(encoder).to(device)

    def vectors(texts: Sequence[str]) -> Any:
        return encode_all(model, [whole(tokens_of(text)) for text in texts], device=device).float().cpu().numpy()

    facts.add_neighbours(
        vectors([each.text for each in facts.statements]), vectors([each.question.text for each in facts.asked])
    )


def logits(model: PairModel, chunks: Sequence[PairChunk], order: Tensor, *, device: str) -> tuple[Tensor, Tensor]:
    """Return both heads of all pairs, in their order."""
    with torch.autocast(device, dtype=torch.bfloat16, enabled=device != "cpu"):
        parts = [model(*chunk.to(device)) for chunk in chunks]
    order = order.to(device)
    return torch.cat([part[0] for part in parts]).float()[order], torch.cat([part[1] for part in parts]).float()[order]


def pair_losses(
    model: PairModel, batch: PairBatch, *, device: str, taught_by: Sequence[PairModel] = ()
) -> tuple[Tensor, Tensor]:
    """Return the loss of the labels and that of the reader."""
    classes, scores = logits(model, batch.chunks, batch.order, device=device)
    judged = len(batch.weights)
    classes, scores = classes[:judged], scores[judged:].view(batch.answers.shape)
    loss = label_loss(classes, batch), reader_loss(scores, batch)
    if not taught_by:
        return loss
    with torch.no_grad():
        each = [logits(teacher, batch.chunks, batch.order, device=device) for teacher in taught_by]
        wanted, wanted_scores = (torch.stack([one[head] for one in each]).mean(dim=0) for head in (0, 1))
    wanted, wanted_scores = wanted[:judged], wanted_scores[judged:].view(batch.answers.shape)
    alike = functional.kl_div(
        functional.log_softmax(classes, dim=1), functional.log_softmax(wanted, dim=1), log_target=True, reduction="none"
    )
    alike = (alike.sum(dim=1) * batch.weights).sum() / batch.weights.sum()
    ranked = functional.kl_div(
        functional.log_softmax(scores, dim=1), functional.log_softmax(wanted_scores, dim=1), log_target=True,
        reduction="batchmean",
    )  # fmt: skip
    judged_alike = functional.binary_cross_entropy_with_logits(scores, wanted_scores.sigmoid())
    return _HARD_SHARE * loss[0] + alike, _HARD_SHARE * loss[1] + ranked + _JUDGEMENT_WEIGHT * judged_alike


def label_loss(classes: Tensor, batch: PairBatch) -> Tensor:
    """Return the mean of -log of the probability that one of the possible labels holds."""
    shares = functional.log_softmax(classes, dim=1).masked_fill(~batch.possible, -torch.inf)
    return (-torch.logsumexp(shares, dim=1) * batch.weights).sum() / batch.weights.sum()


def reader_loss(scores: Tensor, batch: PairBatch) -> Tensor:
    """Return the loss of the order, that of each text's own judgement, and the distance to a teacher's order."""
    shares = functional.log_softmax(scores.masked_fill(~batch.counted, -1e4), dim=1)
    has_answer = batch.answers.any(dim=1)
    right = torch.logsumexp(shares.masked_fill(~batch.answers, -1e4), dim=1)
    loss = -(right * has_answer).sum() / has_answer.sum().clamp(min=1)
    judged = functional.binary_cross_entropy_with_logits(scores, batch.answers.float(), reduction="none")
    loss = loss + _JUDGEMENT_WEIGHT * (judged * batch.counted).sum() / batch.counted.sum()
    known = ~batch.scores.isnan().any(dim=1)
    wanted = functional.log_softmax(batch.scores.nan_to_num().masked_fill(~batch.counted, -1e4), dim=1)
    each = functional.kl_div(shares, wanted, log_target=True, reduction="none").sum(dim=1)
    return loss + torch.where(known, each, torch.zeros_like(each)).mean()


def main() -> None:
    """Train with the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--facts", type=Path, required=True)
    parser.add_argument("--start", type=Path, required=True, help="the encoder, .onnx or .pt")
    parser.add_argument("--teacher", type=Path, nargs="*", default=(), help="deeper pair models to learn from too")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--layers", type=int, nargs="+", default=(0, 1, 3, 5))
    parser.add_argument("--steps", type=int, default=2400)
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--reader", type=float, default=1.0, help="the weight of the reader's loss")
    parser.add_argument("--lists", type=int, default=24, help="public questions in a batch")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = vars(parser.parse_args())
    corpus, start, facts = Corpus.load(options.pop("corpus")), load_weights(options.pop("start")), options.pop("facts")
    device, out, deeper = options.pop("device"), options.pop("out"), options.pop("teacher")
    teachers = [load(file, start) for file in deeper]
    options["layers"] = tuple(options["layers"])
    plan = PairTraining(**options)
    save(train(corpus, FactData(facts), start, plan, device=device, teachers=teachers), out)


if __name__ == "__main__":
    main()
