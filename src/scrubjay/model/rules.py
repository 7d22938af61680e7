"""The rules of a space: how it treats new memories."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Self, cast

from scrubjay.errors import InvalidInput, Rejected
from scrubjay.lazy import dataclass
from scrubjay.model.memory import Json

# The collection of the rules of a space, and the keys in it.
COLLECTION = "rules"
WRITING = "writing"
TAGS = "tags"
CHOICES = {
    "gate": ("merge", "report", "off"),
    "density": ("warn", "reject", "reconstruct", "off"),
    "tags": ("normalise", "off"),
    "secrets": ("redact", "off"),
    "injection": ("label", "off"),
    "conflicts": ("detect", "off"),
    "review": ("none", "agents", "all"),
    "llm": ("later", "wait", "off"),
}
BOUNDS = {
    "window_days": (0, 36_500),
    "least_characters": (0, 10_000),
    "least_tags": (0, 64),
    "most_tags": (1, 64),
    "prune_days": (0, 36_500),
    "purge_days": (0, 36_500),
    "most_memories": (0, 1_000_000_000),
    "most_bytes": (0, 1_000_000_000_000),
}
_MAX_PATTERNS = 200
_MAX_PATTERN_LENGTH = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How a space treats new memories.

    `gate`: merge similar memories, only report them, or do not search for them. `window_days`: how far back to search.
    `same`: the similarity from which two texts count as the same; 0 means the default of the model. `density`: the
    treatment of texts that make no statement, or are shorter than `least_characters`. `conflicts`: whether to detect
    conflicts with stored memories. `review`: whose memories wait for approval. `never`: refuse texts with these words;
    `*` matches anything. `never_paths`: refuse texts that come from or name these files. `llm`: whether a language
    model, if there is one, improves new memories later, at once, or not at all.

    What curation does by itself, 0 for never: `prune_days` moves what was not used for so long to the trash,
    `purge_days` destroys what was in the trash for so long, and of more than `most_memories` memories, or `most_bytes`
    bytes of text, the best remain. No write is refused for it.
    """

    gate: str = "merge"
    window_days: int = 7
    same: float = 0.0
    density: str = "warn"
    least_characters: int = 0
    tags: str = "normalise"
    least_tags: int = 3
    most_tags: int = 8
    secrets: str = "redact"
    injection: str = "label"
    conflicts: str = "detect"
    review: str = "none"
    never: tuple[str, ...] = ()
    never_paths: tuple[str, ...] = ()
    llm: str = "later"
    prune_days: int = 0
    purge_days: int = 0
    most_memories: int = 0
    most_bytes: int = 0

    def __post_init__(self) -> None:
        """Refuse bounds that contradict each other."""
        if self.least_tags > self.most_tags:
            raise InvalidInput("least_tags cannot be more than most_tags", field="least_tags")

    def with_changes(self, changes: Mapping[str, Json]) -> Self:
        """Return a copy with changes; null restores a default. Raises InvalidInput."""
        return replace(self, **{name: read_rule(name, value) for name, value in changes.items()})

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read rules from a setting of the form `name=value,…`."""
        pairs = [part.partition("=") for part in text.split(",") if part.strip()]
        return cls().with_changes({name.strip(): value.strip() for name, _, value in pairs})

    @property
    def as_json(self) -> dict[str, Json]:
        """All rules."""
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}


def read_rule(name: str, value: Json) -> object:
    """Return the value of a rule, from JSON or from text; null is its default. Raises InvalidInput."""
    if name not in _DEFAULTS:
        raise InvalidInput(
            f"there is no rule {name[:100]!r}", hint=f"There are {', '.join(_DEFAULTS)}", field=name[:100]
        )
    if value is None:
        return _DEFAULTS[name]
    if name in CHOICES:
        if value not in CHOICES[name]:
            raise InvalidInput(f"{name} must be one of {', '.join(CHOICES[name])}, not {value!r}", field=name)
        return value
    if name in BOUNDS:
        return _whole(name, value)
    return _similarity(value) if name == "same" else _patterns(name, value)


def _whole(name: str, value: Json) -> int:
    low, high = BOUNDS[name]
    number = int(value) if isinstance(value, str) and value.isdecimal() else value
    if not isinstance(number, int) or isinstance(number, bool) or not low <= number <= high:
        raise InvalidInput(f"{name} must be a whole number from {low} to {high:,}, not {value!r}", field=name)
    return number


def rejection(reason: str, *, warnings: Sequence[str] = ()) -> Rejected:
    """Return the error for a text that the rules of its space reject."""
    return Rejected(
        f"nothing was stored: {reason}",
        hint="Change the text, or the rules of the space: `scrubjay rules show` and `GET /api/v1/rules` show them",
        warnings=tuple(warnings),
    )


def _similarity(value: Json) -> float:
    try:
        number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else -1.0
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise InvalidInput(f"same must be a number from 0 to 1, not {value!r}", field="same")
    return number


def _patterns(name: str, value: Json) -> tuple[str, ...]:
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(item, str) and "\x00" not in item for item in items):
        raise InvalidInput(f"{name} must be a list of texts without NUL characters", field=name)
    patterns = tuple(dict.fromkeys(" ".join(item.split()) for item in cast("list[str]", items) if item.strip(" *")))
    if len(patterns) > _MAX_PATTERNS or any(len(pattern) > _MAX_PATTERN_LENGTH for pattern in patterns):
        raise InvalidInput(
            f"{name} takes up to {_MAX_PATTERNS} patterns of up to {_MAX_PATTERN_LENGTH} characters", field=name
        )
    return patterns


def _plain(value: object) -> Json:
    return list(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else cast("Json", value)


_DEFAULTS: dict[str, object] = {field.name: field.default for field in fields(Rules)}
