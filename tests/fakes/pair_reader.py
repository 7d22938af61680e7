"""A pair model with one answer."""

from collections.abc import Sequence

from scrubjay.model.conflict import DatedStatement, PairShares


class KnowingReader:
    """Says of every pair the same, and keeps what it was asked."""

    def __init__(self, *, error: Exception | None = None, **shares: float) -> None:
        nothing = dict.fromkeys(("same", "more", "changes", "contradicts", "unrelated"), 0.0)
        self._shares = PairShares(**(nothing | shares))
        self._error = error
        self.batches: list[Sequence[tuple[DatedStatement, DatedStatement]]] = []

    async def name(self) -> str:
        return "knowing"

    async def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        raise AssertionError("a write asks no question")

    async def judge(self, pairs: Sequence[tuple[DatedStatement, DatedStatement]]) -> list[PairShares]:
        self.batches.append(pairs)
        if self._error is not None:
            raise self._error
        return [self._shares for _ in pairs]

    async def close(self) -> None:
        """Nothing to release."""
