"""A language model with prepared answers."""

from collections import deque
from collections.abc import Mapping

from scrubjay.errors import LlmUnavailable
from scrubjay.llm.response import schema_mismatch
from scrubjay.model.memory import Json


class ScriptedModel:
    """A model that gives prepared lists of facts, and then fails."""

    name = "scripted"

    def __init__(self, *answers: list[Json]) -> None:
        self.answers = deque(answers)
        self.prompts: list[str] = []

    async def ask(self, instructions: str, text: str, *, schema: Mapping[str, Json]) -> Mapping[str, Json]:
        self.prompts.append(f"{instructions}\n{text}")
        if not self.answers:
            raise LlmUnavailable("it is tired", reason="resting")
        answer: dict[str, Json] = {"facts": self.answers.popleft()}
        assert not schema_mismatch(answer, schema)
        return answer

    async def describe(self) -> dict[str, str | int | float | bool]:
        return {}

    async def close(self) -> None:
        """Do nothing: it holds no resources."""


def a_fact(statement: str, *, turn: int = 1, kind: str = "event", entity: str = "Ann") -> dict[str, Json]:
    return {"turn": turn, "type": kind, "entity": entity, "statement": statement, "confidence": 0.9}
