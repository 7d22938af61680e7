"""The memory that a job is about: read, asked about, and written anew, unless somebody changed it meanwhile."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType

from scrubjay.engine import Engine
from scrubjay.errors import LlmUnavailable
from scrubjay.model.change import Action
from scrubjay.model.draft import Caller, Edit
from scrubjay.model.job import Job
from scrubjay.model.memory import Flag, Json, Memory, State
from scrubjay.ports import Llm

_AGENT = "llm"
_ALIVE = (State.LIVE, State.WAITING)
# What takes several pages is not for a model to write anew.
_LONGEST = 12_000
# Without a model it stays to be done: one may come.
_LATER = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTarget:
    """A memory, the job about it, and who helps."""

    engine: Engine
    llm: Llm
    job: Job
    memory: Memory

    async def ask(self, text: str, *, task: ModuleType) -> Mapping[str, Json] | None:
        """What the model answers; None when it gave no such answer. Raises LlmUnavailable when it can give none."""
        try:
            return await self.llm.ask(task.INSTRUCTIONS, text, schema=task.SCHEMA)
        except LlmUnavailable as error:
            # Asked again it would say the same, and cost the same.
            if error.fields.get("reason") == "answer":
                return None
            raise

    async def write(self, fields: Mapping[str, Json], *, message: str) -> str:
        """Make a new version; raises StaleVersion when there is one that the model has not read."""
        who = await self._who()
        edit = Edit(fields=fields, message=f"{message} by {self.llm.name}", expected_version=self.memory.version)
        done = await self.engine.revise(self.memory.id, edit, who=who)
        return f"{message}: version {done.version}" if done.action == "updated" else "nothing to change"

    async def _who(self) -> Caller:
        """Whoever wrote what is improved, in the same run: so `undo` takes back both."""
        space = self.job.space
        (newest,) = await self.engine.store.versions(space, self.memory.id, limit=1)
        if newest.action == Action.UNDONE:
            return Caller(space=space, agent=_AGENT, run=self.job.id)
        return Caller(space=space, agent=newest.agent, run=newest.run)


async def job_target(job: Job, *, engine: Engine, llm: Llm | None) -> JobTarget | str:
    """What a job is about, or why there is nothing to do."""
    if llm is None:
        raise LlmUnavailable("there is no language model", hint="Set SCRUBJAY_LLM", reason="off", put_off=_LATER)
    memory_id = str(job.about.get("memory_id", ""))
    memory = (await engine.store.get(job.space, [memory_id])).get(memory_id)
    if memory is None or memory.state not in _ALIVE:
        return "skipped: the memory is gone"
    if Flag.SUSPICIOUS in memory.flags:
        return "skipped: its text tries to give orders"
    if len(memory.content) > _LONGEST:
        return f"skipped: longer than {_LONGEST:,} characters"
    return JobTarget(engine=engine, llm=llm, job=job, memory=memory)
