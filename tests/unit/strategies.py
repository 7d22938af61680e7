"""Hypothesis strategies for memories, times and texts."""

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import settings
from hypothesis import strategies as st

from scrubjay.model.identity import new_id
from scrubjay.model.memory import Flag, Json, Memory, Merged, Method, Observation, Source, State, Tier, Trust

# No test may depend on how fast the machine is; few examples keep the whole suite quick.
some_examples = settings(max_examples=40, deadline=None)
few_examples = settings(max_examples=20, deadline=None)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
moments = st.datetimes(
    min_value=datetime(1900, 1, 1),  # noqa: DTZ001 - the zone is drawn apart
    max_value=datetime(2200, 1, 1),  # noqa: DTZ001
    timezones=st.just(UTC) | st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes))),
).map(lambda moment: moment.astimezone(UTC))
scalars: st.SearchStrategy[Json] = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False), texts
)
values: st.SearchStrategy[Json] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6
)
sources = st.builds(
    Source,
    session=texts,
    conversation=texts,
    at=st.none() | moments,
    method=st.sampled_from(Method),
    agent=texts,
    tool=texts,
    trust=st.sampled_from(Trust),
)
# An empty source is kept as none.
others = st.none() | sources.filter(lambda source: source != Source())
observations = st.builds(Observation, text=texts, recorded_at=moments, valid_until=st.none() | moments, source=others)
merged = st.builds(
    Merged, id=st.builds(new_id), at=moments, source=sources, statements=st.lists(texts, max_size=2).map(tuple)
)
memories = st.builds(
    Memory,
    id=st.builds(new_id),
    space=texts,
    name=texts,
    created_at=moments,
    updated_at=moments,
    title=texts,
    kind=texts,
    category=texts,
    project=texts,
    scope=texts,
    content=texts,
    observations=st.lists(observations, max_size=3).map(tuple),
    entity=texts,
    group=texts,
    tags=st.lists(texts, max_size=3).map(tuple),
    tier=st.sampled_from(Tier),
    pinned=st.booleans(),
    relevance=st.floats(0, 1),
    expires_at=st.none() | moments,
    remind_at=st.none() | moments,
    state=st.sampled_from(State),
    merged_into=texts,
    merged=st.lists(merged, max_size=2).map(tuple),
    flags=st.lists(st.sampled_from(Flag), max_size=2).map(tuple),
    version=st.integers(1, 1000),
    branch=texts,
    resolution=texts,
    source=sources,
    metadata=st.dictionaries(texts, values, max_size=3),
    last_accessed=st.none() | moments,
    last_confirmed=st.none() | moments,
    last_reviewed=st.none() | moments,
    access_count=st.integers(0, 1000),
)
