"""The verbs of programs: run one, make its result fit the token budget, and read on in a stored one."""

import asyncio
import keyword
from dataclasses import replace
from datetime import UTC, datetime

from scrubjay.code.execution import Execution, execute
from scrubjay.code.functions import Call, Functions, caller_of
from scrubjay.code.library import Library
from scrubjay.code.pool import WorkerPool
from scrubjay.code.skills.service import Skills
from scrubjay.code.values import NotJson, cost, cut_key, length, part_of, plain, shorten
from scrubjay.code.wall import WallPolicy
from scrubjay.code.workspace import Workspace, empty_workspaces
from scrubjay.engine import Engine
from scrubjay.engine.dependencies import NO_WALL
from scrubjay.errors import InvalidInput, TooLarge, WrongState
from scrubjay.lazy import dataclass
from scrubjay.model.caller import Caller
from scrubjay.model.code import CodeLimits, CodeResult
from scrubjay.model.identity import new_id
from scrubjay.model.memory import Json
from scrubjay.model.requests import (
    ListSkillsRequest,
    LoadSkillRequest,
    OutcomeRequest,
    RunCodeRequest,
    RunSkillRequest,
    SaveSkillRequest,
)
from scrubjay.model.skill import SavedSkill, Skill
from scrubjay.ports import Clock, DocumentStore

_KILOBYTE = 1024
# Of the token budget, what the other fields of a result take.
_OVERHEAD = 60
_LEAST_TOKENS = 50
# A clock that differs by more is one of a test or a simulation, which programs share.
_REAL_SECONDS = 5


class CodeRunner:
    """Runs the programs of all callers of an engine, in one pool of workers."""

    def __init__(self, *, documents: DocumentStore, clock: Clock, limits: CodeLimits, policy: WallPolicy) -> None:
        self.documents = documents
        self.clock = clock
        self.limits = limits
        self.pool = WorkerPool(limits=limits, policy=policy)
        # Those that have begun, of programs that run and of ended ones.
        self.writes: set[asyncio.Future[object]] = set()

    def bound_to(self, call: Call, *, engine: Engine) -> "CodeVerbs":
        """Return the verbs of programs, which call other verbs with a function."""
        return CodeVerbs(runner=self, call=call, engine=engine)

    async def describe(self) -> dict[str, str | int | bool]:
        """Return the wall around programs, and their limits."""
        try:
            walled = await self.pool.wall()
        except WrongState as error:
            return {"wall": NO_WALL, "why": error.message}
        why: dict[str, str | int | bool] = {"why": walled.why} if walled.why else {}
        return {
            "wall": walled.wall.value, **why, "seconds": self.limits.seconds, "memory_mb": self.limits.memory_mb,
        }  # fmt: skip

    async def forget(self, space: str) -> None:
        """Empty the workspaces of a space, since their files may contain what was purged."""
        await empty_workspaces(self.documents, space)

    async def close(self) -> None:
        """Let the writes of programs be completed, and end the workers."""
        if self.writes:
            await asyncio.wait(self.writes)
        await self.pool.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeVerbs:
    """The verbs of programs, for one front door."""

    runner: CodeRunner
    call: Call
    engine: Engine

    async def run_code(self, request: RunCodeRequest, *, who: Caller) -> CodeResult:
        """Run a program, or return the next part of a stored result."""
        if bool(request.code.strip()) == bool(request.handle):
            raise InvalidInput(
                "there is a stored result to read beside the code" if request.handle else "there is no code to run",
                hint="Give `code`, or the `handle` of a stored result",
                field="code",
            )
        agent = caller_of(who, who.run or new_id())
        workspace = self._workspace(agent)
        if request.handle:
            value = await workspace.result(request.handle)
            return _page(CodeResult(success=True, handle=request.handle), value, request)
        self._require_valid(request)
        functions = Functions(self.call, agent, writes=self.runner.writes)
        execution = await execute(
            request.code, variables=request.context_vars, now=self._moment(),
            library=Library(functions, workspace, program=request.code), pool=self.runner.pool,
        )  # fmt: skip
        run = agent.run if await self._has_changed(functions, agent) else ""
        return await _answer(execution, functions, request, workspace=workspace, run=run)

    async def save_skill(self, request: SaveSkillRequest, *, who: Caller) -> SavedSkill:
        """Save a skill that works with its example, or any as a draft."""
        return await self._skills.save(request, who=who)

    async def list_skills(self, request: ListSkillsRequest, *, who: Caller) -> tuple[Skill, ...]:
        """Return the skills that match, without their sources."""
        return await self._skills.list(request, who=who)

    async def load_skill(self, request: LoadSkillRequest, *, who: Caller) -> Skill:
        """Return a skill with its source."""
        return await self._skills.load(request, who=who)

    async def run_skill(self, request: RunSkillRequest, *, who: Caller) -> CodeResult:
        """Run a skill, and count the run."""
        return await self._skills.run(request, who=who)

    @property
    def _skills(self) -> Skills:
        return Skills(engine=self.engine, run_code=self.run_code)

    async def _has_changed(self, functions: Functions, agent: Caller) -> bool:
        """Whether there is something for `undo`: a write may have stored nothing, and one that goes on may yet."""
        if not functions.has_written or functions.unfinished:
            return functions.has_written
        return (await self.engine.outcome(OutcomeRequest(runs=(agent.run,)), who=agent))[agent.run]

    def _workspace(self, who: Caller) -> Workspace:
        runner = self.runner
        quota = runner.limits.workspace_kb * _KILOBYTE
        return Workspace(documents=runner.documents, clock=runner.clock, who=who, quota=quota)

    def _require_valid(self, request: RunCodeRequest) -> None:
        most = self.runner.limits.source_kb * _KILOBYTE
        if len(request.code.encode("utf-8", "replace")) > most:
            raise TooLarge(
                f"the program is larger than {most:,} bytes", hint="Pass data as `context_vars`", field="code"
            )
        for name in request.context_vars:
            if not name.isidentifier() or keyword.iskeyword(name):
                raise InvalidInput(f"{name[:60]!r} cannot be the name of a variable", field="context_vars")
        try:
            plain(request.context_vars, most=self.runner.limits.output_kb * _KILOBYTE)
        except NotJson as error:
            raise TooLarge(f"context_vars cannot be passed: {error}", field="context_vars") from None

    def _moment(self) -> datetime | None:
        now = self.runner.clock.now()
        return now if abs((now - datetime.now(UTC)).total_seconds()) > _REAL_SECONDS else None


async def _answer(
    execution: Execution, functions: Functions, request: RunCodeRequest, *, workspace: Workspace, run: str
) -> CodeResult:
    answer = CodeResult(
        success=not execution.error, error=shorten(execution.error, request.max_tokens), hint=execution.hint,
        line=execution.line, execution_time_ms=execution.milliseconds, memory_used_mb=execution.memory_mb,
        calls=functions.calls, run=run,
    )  # fmt: skip
    value, budget = execution.value, max(_LEAST_TOKENS, request.max_tokens - _OVERHEAD)
    if cost(value) <= budget:
        left = max(_LEAST_TOKENS, budget - cost(value))
        return replace(answer, result=value, stdout=shorten(execution.stdout, left))
    handle = await workspace.store_result(value)
    paged = _page(replace(answer, handle=handle), value, request)
    return replace(paged, stdout=shorten(execution.stdout, _LEAST_TOKENS))


def _page(answer: CodeResult, value: Json, request: RunCodeRequest) -> CodeResult:
    """Return an answer with the part of a stored value that fits."""
    budget = max(_LEAST_TOKENS, request.max_tokens - _OVERHEAD)
    part, following = part_of(value, offset=request.offset, tokens=budget)
    hint = answer.hint
    cut = cut_key(value, part, offset=request.offset)
    if cut is not None:
        hint = f"{cut!r} is cut: a program that returns load_result({answer.handle!r})[{cut!r}] gets it in parts"
    return replace(answer, result=part, total=length(value), next=following, hint=hint)
