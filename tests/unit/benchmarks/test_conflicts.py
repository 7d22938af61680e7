"""What the benchmark of conflicts makes itself, and that the rules keep to what it wants."""

from collections import Counter

from benchmarks.conflicts_everyday import BOTH_TRUE, ONE_VALUE, everyday_pairs
from scrubjay.model.conflict import Strategy
from scrubjay.text.claims.compare import compare


def test_what_excludes_each_other_is_found_and_what_goes_together_is_not() -> None:
    count, sure = Counter[str](), Counter[str]()
    for pair in everyday_pairs():
        found = compare(pair.first, pair.second, cosine=None)
        count[pair.kind] += 1
        sure[pair.kind] += found is not None and found.suggested is Strategy.SUPERSEDE
    assert min(count[ONE_VALUE], count[BOTH_TRUE]) > 70
    assert sure[ONE_VALUE] >= 0.8 * count[ONE_VALUE]
    assert sure[BOTH_TRUE] <= 0.05 * count[BOTH_TRUE]
