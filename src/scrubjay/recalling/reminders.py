"""`due`: the memories whose reminder has come, for a list and for the context of a session."""

from collections.abc import Callable, Iterable
from datetime import datetime

from scrubjay.lookup.references import TolerantReader
from scrubjay.model.checks import require_integer, require_moment
from scrubjay.model.labels import mark_of_all
from scrubjay.model.memory import Memory
from scrubjay.model.query import Filter, month_of
from scrubjay.model.requests import DueRequest
from scrubjay.model.results import DueReminders, Reminder
from scrubjay.ports import RecordStore
from scrubjay.recalling.collapse import passes
from scrubjay.recalling.context_text import current_text

_MAX_MONTHS = 1_200
_MAX_PER_MONTH = 50_000
_PAGE = 500
_MAX_TEXT = 300

Select = Callable[[Iterable[Memory]], list[Memory]]


async def due(request: DueRequest, *, space: str, now: datetime, store: RecordStore) -> DueReminders:
    """Return the memories whose reminder is due now, or by a time, the latest first."""
    require_moment(request.by, field="by")
    require_integer(request.limit, field="limit")

    def select(memories: Iterable[Memory]) -> list[Memory]:
        return [memory for memory in memories if passes(memory, Filter(), now=now)]

    reader = TolerantReader(store, space=space)
    memories = await due_memories(reader, by=request.by or now, enough=request.limit, select=select)
    reminders = tuple(
        Reminder(
            id=memory.id, name=memory.name, kind=memory.kind, text=current_text(memory, now=now)[:_MAX_TEXT],
            remind_at=memory.remind_at or now, mark=mark_of_all(memory),
        )
        for memory in memories[: request.limit]
    )  # fmt: skip
    return DueReminders(reminders=reminders, more=len(memories) - len(reminders))


async def due_memories(
    reader: TolerantReader[RecordStore], *, by: datetime, enough: int, select: Select
) -> list[Memory]:  # fmt: skip
    """Return memories with a reminder by a time, the latest first: at least `enough`, if there are so many."""
    months = await reader.store.labels(reader.space, "remind", prefix="", limit=_MAX_MONTHS)
    due: list[Memory] = []
    for month in reversed([month for month in months if month <= month_of(by)]):
        # To the end of the month, since due reminders may be listed after later ones.
        after: str | None = None
        for _ in range(0, _MAX_PER_MONTH, _PAGE):
            ids = await reader.store.list_ids(reader.space, Filter(remind=month), limit=_PAGE, after=after)
            chosen = select(await reader.get(ids))
            due += [memory for memory in chosen if memory.remind_at is not None and memory.remind_at <= by]
            if len(ids) < _PAGE:
                break
            after = ids[-1]
        if len(due) >= enough:
            break
    return sorted(due, key=lambda memory: (memory.remind_at or by, memory.id), reverse=True)
