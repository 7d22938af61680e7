"""The generated pairs of the benchmark of conflicts, and the targets for the rules on them."""

from collections import Counter

from benchmarks.conflicts_everyday import BOTH_TRUE, ONE_VALUE, everyday_pairs
from scrubjay.model.conflict import Strategy
from scrubjay.text.claims.compare import compare


def test_excluding_values_conflict_and_compatible_ones_do_not() -> None:
    count, sure = Counter[str](), Counter[str]()
    for pair in everyday_pairs():
        finding = compare(pair.first, pair.second, cosine=None)
        count[pair.kind] += 1
        sure[pair.kind] += finding is not None and finding.suggested is Strategy.SUPERSEDE
    assert min(count[ONE_VALUE], count[BOTH_TRUE]) > 70
    assert sure[ONE_VALUE] >= 0.8 * count[ONE_VALUE]
    assert sure[BOTH_TRUE] <= 0.05 * count[BOTH_TRUE]
