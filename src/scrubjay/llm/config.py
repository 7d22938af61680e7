"""Which language model, where it is, and what it may cost."""

from dataclasses import dataclass, field

OPENAI = "openai"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """What the settings choose. A limit of 0 is none."""

    provider: str
    model: str
    url: str = ""
    key: str = field(default="", repr=False)
    seconds: float = 30.0
    daily_calls: int = 1000
    daily_tokens: int = 1_000_000
    # Room for an answer beyond twice what was asked; models that think first count their thoughts too.
    answer_tokens: int = 2048
    most_answer_tokens: int = 16_384

    @property
    def name(self) -> str:
        """What it is called in messages and in `status`."""
        return f"{self.provider}:{self.model}"
