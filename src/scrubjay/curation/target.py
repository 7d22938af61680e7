"""The memory of a job: read, passed to the model, and written unless it has changed meanwhile."""

from collections.abc import Mapping

from scrubjay.engine import Engine
from scrubjay.errors import LlmUnavailable
from scrubjay.lazy import dataclass
from scrubjay.model.caller import Caller
from scrubjay.model.change import Action
from scrubjay.model.job import Job
from scrubjay.model.memory import Flag, Json, Memory, State
from scrubjay.model.requests import Edit
from scrubjay.ports import Llm

NO_ANSWER = "unchanged: the model gave no valid answer"
_AGENT = "llm"
_EDITABLE_STATES = (State.LIVE, State.WAITING)
# A text of several pages is too long for a model to rewrite.
_MAX_LENGTH = 12_000
# Without a model the job waits, since one may be configured later.
_NO_MODEL_SECONDS = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """The instructions of a task for a model, and the schema of its answer."""

    instructions: str
    schema: dict[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTarget:
    """A memory, its job, and the model that improves it."""

    engine: Engine
    llm: Llm
    job: Job
    memory: Memory

    async def ask(self, prompt: Prompt, text: str) -> Mapping[str, Json] | None:
        """Return the model's answer; None if it is invalid. Raise LlmUnavailable if the model cannot answer."""
        try:
            return await self.llm.ask(prompt.instructions, text, schema=prompt.schema)
        except LlmUnavailable as error:
            # Another request would give the same answer at the same cost.
            if error.fields.get("reason") == "answer":
                return None
            raise

    async def write(self, fields: Mapping[str, Json], *, message: str) -> str:
        """Write a new version; raise StaleVersion if the memory has changed since the model read it."""
        who = await self._writer()
        edit = Edit(fields=fields, message=f"{message} by {self.llm.name}", expected_version=self.memory.version)
        revised = await self.engine.apply_edit(self.memory.id, edit, who=who)
        return f"{message}: version {revised.version}" if revised.action == "updated" else "nothing to change"

    async def _writer(self) -> Caller:
        """Return the writer of the improved version, in the same run, so that `undo` reverts both."""
        space = self.job.space
        (newest,) = await self.engine.reader.versions(space, self.memory.id, limit=1)
        if newest.action == Action.UNDONE:
            return Caller(space=space, agent=_AGENT, run=self.job.id)
        return Caller(space=space, agent=newest.agent, run=newest.run)


async def open_target(job: Job, *, engine: Engine, llm: Llm | None) -> JobTarget | str:
    """Return the target of a job, or the reason why there is nothing to do."""
    if llm is None:
        raise LlmUnavailable(
            "there is no language model", hint="Set SCRUBJAY_LLM", reason="off", put_off=_NO_MODEL_SECONDS
        )
    memory_id = str(job.about.get("memory_id", ""))
    memory = (await engine.reader.get(job.space, [memory_id])).get(memory_id)
    if memory is None or memory.state not in _EDITABLE_STATES:
        return "skipped: the memory is gone"
    if Flag.SUSPICIOUS in memory.flags:
        return "skipped: its text reads like instructions to a model"
    if len(memory.content) > _MAX_LENGTH:
        return f"skipped: longer than {_MAX_LENGTH:,} characters"
    return JobTarget(engine=engine, llm=llm, job=job, memory=memory)
