"""The losses of the encoder, all on cosines times a scale."""

from typing import Any

import torch
from torch.nn import functional

from training.batches import Batch
from training.data import FACTS

Tensor = Any
SCALE = 20.0
TRIPLES_WEIGHT, PAIRS_WEIGHT = 0.3, 0.3


def total_loss(vectors: Tensor, batch: Batch, *, distil: float, facts: float = PAIRS_WEIGHT) -> Tensor:
    """Return the loss of a batch whose vectors are in the batch's order; `facts` is the weight of the own pairs."""
    groups, candidates = batch.groups, batch.ids.shape[1]
    questions, rest = vectors[:groups], vectors[groups:]
    texts, rest = rest[: groups * candidates].view(groups, candidates, vectors.shape[1]), rest[groups * candidates :]
    own = torch.einsum("gd,gcd->gc", questions, texts) * SCALE
    loss = contrast(questions, texts, own, batch)
    if distil:
        loss = loss + distil * distillation(own, batch.scores)
    triples, rest = rest[: 3 * batch.triples].view(batch.triples, 3, vectors.shape[1]), rest[3 * batch.triples :]
    if batch.triples:
        loss = loss + TRIPLES_WEIGHT * triple_contrast(triples)
    for name, (count, scores) in batch.pairs.items():
        pairs, rest = rest[: 2 * count].view(count, 2, vectors.shape[1]), rest[2 * count :]
        if count > 1:
            weight = facts if name == FACTS else PAIRS_WEIGHT
            loss = loss + weight * cosent((pairs[:, 0] * pairs[:, 1]).sum(dim=1), scores)
    return loss


def contrast(questions: Tensor, texts: Tensor, own: Tensor, batch: Batch) -> Tensor:
    """InfoNCE over the positives of the batch and the own negatives; what answers too is no negative."""
    logits = questions @ texts[:, 0].T * SCALE
    itself = torch.eye(len(logits), dtype=torch.bool, device=logits.device)
    logits = logits.masked_fill(batch.also & ~itself, -torch.inf)
    negatives = own[:, 1:].masked_fill(batch.ids[:, 1:] == batch.ids[:, :1], -torch.inf)
    return functional.cross_entropy(
        torch.cat([logits, negatives], dim=1), torch.arange(len(logits), device=logits.device)
    )


def distillation(own: Tensor, scores: Tensor) -> Tensor:
    """KL from the teacher's distribution over the own candidates, of the groups that it has scored entirely."""
    known = ~scores.isnan().any(dim=1)
    targets = functional.softmax(scores.nan_to_num(), dim=1)
    each = functional.kl_div(functional.log_softmax(own, dim=1), targets, reduction="none").sum(dim=1)
    return (each * known).sum() / max(1, len(each))


def triple_contrast(triples: Tensor) -> Tensor:
    """InfoNCE of each text against what follows from all of them, and against its own contradiction."""
    logits = triples[:, 0] @ triples[:, 1].T * SCALE
    other = (triples[:, 0] * triples[:, 2]).sum(dim=1, keepdim=True) * SCALE
    return functional.cross_entropy(torch.cat([logits, other], dim=1), torch.arange(len(logits), device=logits.device))


def cosent(cosines: Tensor, scores: Tensor) -> Tensor:
    """CoSENT: pairs that are more alike shall have the greater cosine."""
    differences = (cosines[None, :] - cosines[:, None]) * SCALE
    wrong = differences.masked_fill(scores[:, None] <= scores[None, :], -torch.inf)
    return torch.logsumexp(torch.cat([torch.zeros(1, device=cosines.device), wrong.flatten()]), dim=0)
