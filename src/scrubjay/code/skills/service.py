"""The verbs of skills: each skill is a memory, so that it has versions, is found by recall and is undone like one."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

from scrubjay.code.library import IN_PRELUDE
from scrubjay.code.skills.source import SkillSource, read_source, require_name, source_of_steps
from scrubjay.engine import Engine
from scrubjay.errors import InvalidInput, NameTaken, NotFound, StaleVersion, WrongState
from scrubjay.lazy import dataclass
from scrubjay.lookup.references import resolve
from scrubjay.model.caller import Access, Caller
from scrubjay.model.code import CodeResult
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Flag, Json, Memory, Method, Source, State, Tier, trust_of
from scrubjay.model.query import Filter
from scrubjay.model.requests import (
    Edit,
    ListSkillsRequest,
    LoadSkillRequest,
    RecallRequest,
    RulesRequest,
    RunCodeRequest,
    RunSkillRequest,
    SaveSkillRequest,
)
from scrubjay.model.rules import Rules
from scrubjay.model.skill import (
    KIND,
    METADATA,
    RUNS,
    SavedSkill,
    Skill,
    SkillRuns,
    compose_content,
    skill_metadata,
)
from scrubjay.model.verbs import VERBS
from scrubjay.workers import offload
from scrubjay.writing.batch import Batch, NewMemory
from scrubjay.writing.review import must_wait
from scrubjay.writing.screen import redact_text

RESERVED = (*VERBS, *(signature.partition("(")[0] for signature in IN_PRELUDE))
"""The functions that programs have anyway."""
_ARGUMENTS = "_skill_arguments"
# Of what an example returns only the beginning is shown.
_EXAMPLE_TOKENS = 500
# Several runs may end at the same time.
_MAX_ATTEMPTS = 100
_WAITS = "it waits for approval, and can be run after it"

RunCode = Callable[..., Awaitable[CodeResult]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Skills:
    """The skills of an engine; `run_code` runs a program."""

    engine: Engine
    run_code: RunCode

    async def save(self, request: SaveSkillRequest, *, who: Caller) -> SavedSkill:
        """Save a skill that works with its example, or any as a draft."""
        name = require_name(request.name, taken=RESERVED)
        rules = await self.engine.rules(RulesRequest(), who=who)
        memory = await self._target(request, name=name, who=who)
        if memory is not None:
            _require_no_review(name, rules=rules, who=who)
        earlier = None if memory is None else Skill.of_memory(memory)
        text = request.source or (earlier.source if earlier else "")
        if not text and memory is not None and request.from_memory:
            text = source_of_steps(name, memory.content)
        source, problem = await _read(text, name=name, is_draft=request.draft, rules=rules)
        description = _description(request, source, earlier, memory)
        example = request.example if request.example is not None else earlier.example if earlier else None
        skill = Skill(
            id="", name=name, version=0, description=description, parameters=source.parameters, source=source.text,
            example=example, tags=request.tags or (memory.tags if memory else ()), draft=request.draft,
        )  # fmt: skip
        result = None if request.draft else await self._try(skill, who=who)
        saved = await self._write(skill, memory, rules=rules, request=request, who=who)
        warnings = (*([f"it cannot be run yet: {problem}"] if problem else []), *saved.warnings)
        return replace(
            saved, signature=skill.signature, draft=request.draft, warnings=warnings,
            result=None if result is None else result.result,
        )  # fmt: skip

    async def load(self, request: LoadSkillRequest, *, who: Caller) -> Skill:
        """Return a skill with its source."""
        skill = await self._find(request.name, who=who)
        self.engine.note_reads([skill.id], who=who)
        return skill.with_runs((await self._counted([skill.id], who=who)).get(skill.id))

    async def list(self, request: ListSkillsRequest, *, who: Caller) -> tuple[Skill, ...]:
        """Return the skills that match, without their sources."""
        chosen = Filter(kind=KIND, tags=request.tags)
        if request.query.strip():
            question = RecallRequest(
                query=request.query, filter=chosen, limit=request.limit
            )  # fmt: skip
            recalled = await self.engine.recall(question, who=replace(who, also=()))
            ids = [hit.id for hit in recalled.hits]
        else:
            ids = await self.engine.reader.list_ids(who.space, chosen, limit=request.limit)
        memories, counted = await self.engine.reader.get(who.space, ids), await self._counted(ids, who=who)
        skills = [Skill.of_memory(memories[memory_id]) for memory_id in ids if memory_id in memories]
        return tuple(
            replace(skill.with_runs(counted.get(skill.id)), source="", example=None) for skill in skills if skill
        )

    async def run(self, request: RunSkillRequest, *, who: Caller) -> CodeResult:
        """Run the present version of a skill, and count it."""
        skill = await self._find(request.name, who=who)
        if skill.draft:
            # Its parameters may have changed since they were read.
            skill = replace(skill, parameters=read_source(skill.source, name=skill.name).parameters)
        skill.require_arguments(request.arguments)
        self.engine.note_reads([skill.id], who=who)
        result = await self._run(skill, request.arguments, max_tokens=request.max_tokens, who=who)
        await self._count(skill, result, who=who)
        return result

    async def _target(self, request: SaveSkillRequest, *, name: str, who: Caller) -> Memory | None:
        """Return the memory that becomes the skill or its next version; None if there is none yet."""
        if request.from_memory:
            memory = await resolve(self.engine.reader, request.from_memory, space=who.space, state=State.LIVE)
        else:
            handles = await self.engine.reader.find(who.space, name, state=State.LIVE)
            ids = [handle.id for handle in handles if handle.name == name]
            memory = (await self.engine.reader.get(who.space, ids)).get(ids[0]) if ids else None
            if memory is not None and Skill.of_memory(memory) is None:
                raise NameTaken(
                    f"{name!r} is a memory that is no skill", hint="Choose another name, or make it a skill with "
                    "`from_memory`", name=name, field="name",
                )  # fmt: skip
        current = 0 if memory is None else memory.version
        if request.expected_version not in (None, current):
            raise StaleVersion(
                f"the skill {name} is at version {current}, not {request.expected_version}",
                hint="Load it again and change that version", expected=request.expected_version, current=current,
            )  # fmt: skip
        return memory

    async def _try(self, skill: Skill, *, who: Caller) -> CodeResult:
        """Run a skill with its example; raise InvalidInput if that fails."""
        needed = [parameter.name for parameter in skill.parameters if not parameter.default]
        if skill.example is None and needed:
            raise InvalidInput(
                f"an example is needed to try {skill.signature}", field="example",
                hint=f"Give `example` with {', '.join(needed)}, or save it as a `draft`",
            )  # fmt: skip
        skill.require_arguments(skill.example or {})
        result = await self._run(skill, skill.example or {}, max_tokens=_EXAMPLE_TOKENS, who=who)
        if not result.success:
            place = f" in line {result.line}" if result.line else ""
            raise InvalidInput(
                f"{skill.name} fails with its example{place}: {result.error}", field="source", line=result.line,
                hint=f"{result.hint or 'Correct the source or the example'}, or save it as a `draft`",
            )  # fmt: skip
        return result

    async def _run(self, skill: Skill, arguments: Mapping[str, Json], *, max_tokens: int, who: Caller) -> CodeResult:
        # The call comes last, so that the lines of the source keep their numbers.
        program = f"{skill.source}\n\nresult = {skill.name}(**{_ARGUMENTS})"
        request = RunCodeRequest(code=program, context_vars={_ARGUMENTS: dict(arguments)}, max_tokens=max_tokens)
        result = await self.run_code(request, who=who)
        lines = skill.source.count("\n") + 1
        return replace(result, line=None) if result.line is not None and result.line > lines else result

    async def _write(
        self, skill: Skill, memory: Memory | None, *, rules: Rules, request: SaveSkillRequest, who: Caller
    ) -> SavedSkill:
        content = compose_content(skill.description, skill.source)
        about = skill_metadata(skill.source, skill.parameters, example=skill.example, is_tried=not skill.draft)
        source = _source(who)
        if memory is not None:
            edit = Edit(
                fields={
                    "name": skill.name, "kind": KIND, "tier": Tier.PROCEDURAL, "content": content,
                    "tags": [*skill.tags], "metadata": {**memory.metadata, METADATA: about},
                },
                # What was tried must be what is replaced.
                expected_version=memory.version, source=source if who.agent else None,
                message="accepted as a skill" if request.from_memory else "",
            )  # fmt: skip
            written = await self.engine.apply_edit(memory.id, edit, who=who)
            return SavedSkill(
                action=written.action, id=written.id, name=written.name, version=written.version,
                warnings=written.warnings,
            )  # fmt: skip
        draft = Draft(
            text=content, name=skill.name, kind=KIND, tags=skill.tags, metadata={METADATA: about}, source=source
        )
        waits = must_wait(draft, rules=rules)
        new = NewMemory(draft=draft, state=State.WAITING if waits else State.LIVE, tier=Tier.PROCEDURAL)
        await self.engine.write_batch(Batch(new=(new,)), who=who)
        return SavedSkill(
            action="created", id=new.id, name=skill.name, version=1, warnings=(_WAITS,) if waits else ()
        )  # fmt: skip

    async def _find(self, ref: str, *, who: Caller) -> Skill:
        """Return a skill that may be run."""
        try:
            memory = await resolve(self.engine.reader, ref, space=who.space, state=State.LIVE)
        except NotFound as error:
            near = f"{error.hint} " if error.fields.get("suggestions") else ""
            raise NotFound(
                f"no skill is called {ref[:100]!r}", hint=f"{near}`list_skills` lists the skills", **error.fields
            ) from None
        skill = Skill.of_memory(memory)
        if skill is None:
            raise NotFound(f"{memory.name!r} is no skill", hint="`list_skills` lists the skills", ref=ref[:200])
        if Flag.SUSPICIOUS in memory.flags:
            raise WrongState(
                f"{memory.name} is not run: its text seems to give orders to agents",
                hint="Read it, and save it without them", memory_id=memory.id,
            )  # fmt: skip
        return skill

    async def _counted(self, ids: Sequence[str], *, who: Caller) -> dict[str, SkillRuns]:
        documents = await self.engine.documents.documents_about(who.space, RUNS, ids, limit=len(ids)) if ids else []
        return {document.key: SkillRuns.from_document(document) for document in documents}

    async def _count(self, skill: Skill, result: CodeResult, *, who: Caller) -> None:
        """Count a run. It makes no version, and a run is never refused for it."""
        now = self.engine.clock.now()
        for _ in range(_MAX_ATTEMPTS):
            document = await self.engine.documents.document(who.space, RUNS, skill.id)
            runs = SkillRuns.from_document(document) if document else SkillRuns(space=who.space, memory_id=skill.id)
            counted = runs.with_run(
                success=result.success, milliseconds=result.execution_time_ms, digest=skill.digest, at=now
            )
            try:
                await self.engine.documents.put_document(counted.document(at=now), base=runs.version or None)
            except StaleVersion:
                continue
            return


def _source(who: Caller) -> Source:
    method = Method.AGENT if who.agent or who.access is Access.AGENT else Method.MANUAL
    return Source(agent=who.agent, method=method, trust=trust_of(method))


def _require_no_review(name: str, *, rules: Rules, who: Caller) -> None:
    """Raise WrongState where a person approves skills: a memory that is live cannot wait with its next version."""
    if must_wait(Draft(text="", source=_source(who)), rules=rules):
        raise WrongState(
            f"in this space a person approves what is written, and {name} would replace a memory that is in use",
            hint="Save it under a new name, which waits for approval, or set the rule `review` of this space to none",
            rule="review",
        )  # fmt: skip


async def _read(text: str, *, name: str, is_draft: bool, rules: Rules) -> tuple[SkillSource, str]:
    """Read a source; for a draft, also what is wrong with it."""
    if await offload(len(text), redact_text, text, rules=rules) != text:
        raise InvalidInput(
            "the source has what looks like a secret, which is never stored", hint="Make it a parameter of the skill",
            field="source",
        )  # fmt: skip
    try:
        return await offload(len(text), read_source, text, name=name), ""
    except InvalidInput as error:
        if not is_draft or not text.strip() or error.code != InvalidInput.code:
            raise
        return SkillSource(text=text.rstrip()), error.message


def _description(request: SaveSkillRequest, source: SkillSource, earlier: Skill | None, memory: Memory | None) -> str:
    """Return the description of a skill, which includes the procedure it is made of; raise InvalidInput without one."""
    words = memory.content if memory and not earlier else ""
    parts = (request.description.strip() or (earlier.description if earlier else ""), words.strip())
    description = "\n\n".join(filter(None, parts)) or source.documentation
    if not description:
        raise InvalidInput(
            "a skill needs a description: it is found by it", hint="Give `description`, or document the function",
            field="description",
        )  # fmt: skip
    return description
