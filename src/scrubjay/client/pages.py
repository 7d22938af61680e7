"""What the methods of the clients do with results: ask for the next page, and refuse a missing memory."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from scrubjay.model.query import TextsFound
from scrubjay.model.requests import HistoryRequest, RecallRequest, SearchTextRequest
from scrubjay.model.results import History, Outcome, ReadResult, Recalled

M = TypeVar("M", ReadResult, Outcome)


def require_existing(ids: str | Sequence[str], result: M) -> M:
    """Return a result; raise NotFound if one memory was asked for by itself, not in a list, and it is missing."""
    if isinstance(ids, str) and result.missing:
        raise result.missing[0].error
    return result


def after_recall(request: RecallRequest, page: Recalled) -> RecallRequest | None:
    """Return the request of the page after this one, or None after the last."""
    return replace(request, cursor=page.cursor) if page.cursor else None


def after_search_text(request: SearchTextRequest, page: TextsFound) -> SearchTextRequest | None:
    """Return the request of the page after this one, or None after the last."""
    return replace(request, offset=request.offset + len(page.hits)) if page.more and page.hits else None


def after_history(request: HistoryRequest, page: History) -> HistoryRequest | None:
    """Return the request of the page after this one, or None after the last."""
    return replace(request, before=page.versions[-1].number) if len(page.versions) == request.limit else None
