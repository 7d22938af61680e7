"""Whose word a memory is: what somebody says again who is trusted more becomes theirs, and only that."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from scrubjay.model.memory import Memory, Observation, Source
from scrubjay.text.claims.statements import comparison_key, statements_of

__all__ = ["restated", "rewritten"]


def restated(memory: Memory, incoming: Memory, *, at: datetime) -> Memory:
    """The memory with whatever the incoming one says again as the word of who is trusted more.

    Where all of the text is said again, in the same words or as one sentence for another, the memory is theirs from
    now on; what they did not say keeps its source. Else only the observations are theirs that they said.
    """
    said = set(_keys(incoming, at=at))
    source = replace(incoming.source, at=incoming.source.at or at)
    if not source.trust.outranks(memory.source.trust):
        return _observed_anew(memory, said, source, at=at)
    own = [observation for observation in memory.observations if observation.source is None and observation.holds(at)]
    text = statements_of(memory.content)
    words = text or tuple(one.text for one in own)
    if words and all(comparison_key(word) in said for word in words):
        return _handed_over(memory, said, source, at=at)
    if len(text) == len(statements_of(incoming.content)) == 1:
        theirs = _handed_over(memory, said, source, at=at)
        former = Observation(text=memory.content.strip(), recorded_at=memory.date, source=memory.source)
        return replace(theirs, content=incoming.content, observations=(former, *theirs.observations))
    return _observed_anew(memory, said, source, at=at)


def rewritten(before: Memory, after: Memory, source: Source | None) -> Memory:
    """A memory whose text somebody has rewritten: it is their word now, if that counts more or less than it did."""
    if source is None or after.content in ("", before.content):
        return after
    ours, theirs = before.source.trust, source.trust
    if not ours.outranks(theirs) and not theirs.outranks(ours):
        return after
    own = replace(before.source, trust=theirs, agent=source.agent, method=source.method)
    observations = tuple(
        replace(observation, source=observation.source or before.source) for observation in after.observations
    )
    return replace(after, source=own, observations=observations)


def _handed_over(memory: Memory, said: set[str], source: Source, *, at: datetime) -> Memory:
    """The memory as somebody's word, but for the observations that they did not make."""
    observations = tuple(
        replace(observation, source=None)
        if _is_said(observation, said, at=at) and source.trust.outranks((observation.source or memory.source).trust)
        else replace(observation, source=observation.source or memory.source)
        for observation in memory.observations
    )
    return replace(memory, source=source, observations=observations)


def _observed_anew(memory: Memory, said: set[str], source: Source, *, at: datetime) -> Memory:
    observations = tuple(
        replace(observation, source=source)
        if _is_said(observation, said, at=at) and source.trust.outranks((observation.source or memory.source).trust)
        else observation
        for observation in memory.observations
    )
    return memory if observations == memory.observations else replace(memory, observations=observations)


def _is_said(observation: Observation, said: set[str], *, at: datetime) -> bool:
    return observation.holds(at) and comparison_key(observation.text) in said


def _keys(memory: Memory, *, at: datetime) -> Iterator[str]:
    yield from map(comparison_key, statements_of(memory.content))
    yield from (comparison_key(one.text) for one in memory.current_observations(at))
