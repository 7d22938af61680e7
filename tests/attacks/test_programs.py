"""A program of an agent reaches nothing but the memory of its caller, and ends when it should."""

import asyncio
import os
import shutil
import socket
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from scrubjay.code import CodeRunner
from scrubjay.code.functions import verbs_for
from scrubjay.code.pool import innermost_child
from scrubjay.code.wall import Wall, WallPolicy, wall_command
from scrubjay.code.workspace import Workspace
from scrubjay.engine import Engine
from scrubjay.errors import TooLarge, WrongState
from scrubjay.model.caller import Access, Caller
from scrubjay.model.code import CodeLimits, CodeResult
from scrubjay.model.memory import Method, Trust
from scrubjay.model.requests import (
    DeclineRequest,
    DoctorRequest,
    InboxRequest,
    RunCodeRequest,
    SetRulesRequest,
    StatusRequest,
    UndoRequest,
)
from scrubjay.service import LocalService
from tests.attacks.hostile_programs import CONTAINED, HARMLESS
from tests.attacks.undone_programs import BEFORE_CHANGES, CHANGES, SEEN
from tests.curated import CuratedMemory, open_curated

LIMITS = CodeLimits(
    seconds=1, memory_mb=32, calls=200, sleep_seconds=1, recursion=200, workspace_kb=1_000, workers=2
)  # fmt: skip
MALLORY = Caller(agent="mallory")
OWNER = Caller(agent="ann")
# Set where the wall must be tested: nothing is skipped there.
REQUIRED = os.environ.get("SCRUBJAY_TEST_WALL") == "required"
# Takes minutes in one step of the interpreter.
UNSTOPPABLE = "x = 3 ** 30_000_000"


class Target:
    """A memory, and programs that attack it."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.service = LocalService.over(engine)

    async def run(self, code: str, who: Caller = MALLORY) -> CodeResult:
        return await self.service.call(RunCodeRequest(code=code), who=who)

    async def functions(self, who: Caller) -> list[str]:
        """Return the functions that the programs of a caller have."""
        answer = await self.service.call(RunCodeRequest(code="functions()", max_tokens=90_000), who=who)
        assert isinstance(answer.result, list)
        return [*map(str, answer.result)]

    async def require_unharmed(self) -> None:
        """Check that the next program finds the memory as it was."""
        answer = await self.run("read('own')['memories'][0]['content']")
        assert (answer.result, answer.error) == ("mine", "")


@asynccontextmanager
async def open_target(memory: CuratedMemory, *, policy: WallPolicy = WallPolicy.AUTO) -> AsyncGenerator[Target]:
    programs = CodeRunner(documents=memory.store, clock=memory.clock, limits=LIMITS, policy=policy)
    try:
        yield Target(replace(memory.engine, programs=programs))
    finally:
        await programs.close()


@pytest.fixture
async def target(tmp_path: Path) -> AsyncGenerator[Target]:
    async with open_curated(tmp_path) as memory, open_target(memory) as opened:
        await opened.run("remember('mine', name='own')")
        yield opened


async def test_hostile_programs(target: Target) -> None:
    """Each of 80 hostile programs ends with an error that says why, or does no harm; the memory stays as it was."""
    assert len(CONTAINED) + len(HARMLESS) >= 80
    problems: list[str] = []
    for name, (code, *expected) in CONTAINED.items():
        answer = await target.run(code)
        if answer.success or not any(part in answer.error for part in expected):
            problems.append(f"{name}: {answer.error or answer.result!r:.200}")
        if answer.run:
            await target.service.call(UndoRequest(run=answer.run), who=MALLORY)
    for name, (code, value) in HARMLESS.items():
        answer = await target.run(code)
        if answer.result != value:
            problems.append(f"{name}: {answer.error or answer.result!r:.200}")
    assert problems == []
    with pytest.raises(TooLarge, match=r"the program is larger than 262,144 bytes"):
        await target.run("x = 1\n" * 1_700_000)
    flood = await target.run("for n in range(1_000):\n  print('x' * 10_000)\nresult = 1")
    assert (flood.result, flood.error, "more characters)" in flood.stdout) == (1, "", True)
    endless = await target.run("functions()\nx = 'é'\nlist_files()\nwhile True:\n  pass")
    assert endless.error.endswith("in which line is not known, the last call was list_files in line 3")
    assert endless.hint.startswith("Do less in one program")
    await target.require_unharmed()


async def test_other_spaces(target: Target) -> None:
    """No program sees another space: not by the id of a memory, by its name, by a search, or as a file."""
    bob = Caller(space="other", agent="bob")
    stored = await target.run("write_file('plan', 'x')\nremember('the launch code is 4711', name='secret')['id']", bob)
    for code in (
        f"read(['{stored.result}'])['memories']",
        "read(['secret'])['memories']",
        "recall('launch code 4711')['hits']",
        "search_nodes('secret', limit=10000)[1:]",
        "[n for n in search_nodes('', limit=10000) if n['name'] == 'secret']",
        "list(list_files())",
    ):
        answer = await target.run(code)
        assert (answer.result, answer.error) == ([], ""), code
    for code in (
        f"revise('{stored.result}', text='x')",
        f"forget(['{stored.result}'])['missing'][0]",
        "history('secret')",
    ):
        answer = await target.run(code)
        assert "4711" not in str(answer), code
    assert (await target.run("read('secret')['memories'][0]['content']", bob)).result == "the launch code is 4711"
    refused = await target.run("revise('secret', text='x')")
    assert ("LookupError" in refused.error, refused.run) == (True, ""), "nothing was changed that could be undone"


async def test_rights(target: Target) -> None:
    """A program has the rights of its caller, and never those of the owner."""
    reader = replace(MALLORY, access=Access.READ)
    await target.run("write_file('plan', 'x')")
    for call in (
        "remember('x')", "revise('own', text='x')", "forget('own')", "set_rules(gate='off')", "undo()",
        "write_file('plan', 'y')", "write_file_many([{'name': 'a', 'text': 'b'}])[0]['error']", "delete_file('plan')",
        "save_skill('f', 'def f(): return 1', 'x')",
    ):  # fmt: skip
        answer = await target.run(call, reader)
        assert "PermissionError" in answer.error or "not defined" in answer.error, call
        assert answer.run == "", "it has changed nothing that could be undone"
    assert (await target.run("read_file('plan')", reader)).result == "x"
    listed = {str(line).partition("(")[0] for line in await target.functions(reader)}
    assert {"read_file", "list_files", "recall", "load_skill"} <= listed
    assert not {"write_file", "delete_file", "save_skill", "remember"} & listed
    agent = replace(MALLORY, access=Access.AGENT)
    assert await target.functions(agent) == await target.functions(MALLORY)
    names = {line.partition("(")[0] for line in await target.functions(MALLORY)}
    assert not {"purge", "backup", "tokens", "import_notes", "reembed", "run_code"} & names
    assert {"write_file", "delete_file", "save_skill", "remember"} <= names
    await target.require_unharmed()


async def test_decisions(target: Target) -> None:
    """No program decides for a person: not what leaves the inbox, not by which rules, not that the user has said it."""
    await target.service.call(SetRulesRequest.of(review="agents"), who=OWNER)
    for call in (
        "approve(['waits'])", "decline(['waits'])", "set_rules(review='none')", "add_synonyms('a', ['b'])",
        "remove_synonyms(['b'])", "resolve_conflict('x')", "retry_job('x')", "cancel_job('x')", "scan_later()",
    ):  # fmt: skip
        answer = await target.run(call, OWNER)
        assert ("is not defined" in answer.error, answer.run) == (True, ""), call
    for write in (
        "remember('Deploys happen on Thursdays', name='waits', source={'method': 'manual', 'trust': 'user'})",
        "remember_many([{'text': 'Tea is in the blue cupboard', 'name': 'waits'}])",
        "create_entities([{'name': 'waits', 'entityType': 'x', 'observations': ['Seen.']}])",
        "write_note('waits', 'Some words of a note')",
        "save_skill('waits', 'def waits():\\n    return 1', 'Waits.')",
    ):
        answer = await target.run(write, OWNER)
        assert answer.success, answer.error
        (waiting,) = await target.service.call(InboxRequest(), who=OWNER)
        assert (waiting.source.method, waiting.source.trust) == (Method.AGENT, Trust.AGENT), write
        await target.service.call(DeclineRequest.of(ids=[waiting.id]), who=OWNER)
    await target.require_unharmed()


async def test_undo(tmp_path: Path) -> None:
    """`undo` takes back every change of a program: each verb that writes, of those that programs have."""
    assert {*CHANGES} == {name for name, verb in verbs_for(Access.OWNER).items() if not verb.reads}
    async with open_curated(tmp_path) as memory:
        target = Target(memory.engine)
        assert not (await target.run(BEFORE_CHANGES)).error
        before = await target.run(SEEN)
        assert before.success, before.error
        for verb, code in CHANGES.items():
            changed = await target.run(code)
            assert not changed.error, (verb, changed.error)
            # A commit changes the history alone.
            assert verb == "commit" or (await target.run(SEEN)).result != before.result, verb
            undone = await target.service.call(UndoRequest(run=changed.run), who=MALLORY)
            assert undone.skipped == (), verb
            assert (await target.run(SEEN)).result == before.result, verb


async def test_quota_of_programs_at_once(target: Target) -> None:
    """Programs that write files at the same time share one quota, also where they write the same file."""
    workspace = Workspace(
        documents=target.engine.documents, clock=target.engine.clock, who=MALLORY, quota=100_000
    )  # fmt: skip
    writes = [workspace.write(f"{n % 5}", "x" * (10_000 + 30_000 * (n % 2))) for n in range(16)]
    answers = await asyncio.gather(*writes, return_exceptions=True)
    assert {type(answer) for answer in answers} == {int, TooLarge}
    sizes = await workspace.sizes()
    stored = {name: len(await workspace.read(name)) for name in sizes}
    assert sum(stored.values()) <= sum(sizes.values()) <= workspace.quota


async def test_internal_errors(target: Target) -> None:
    """An error inside the memory tells a program nothing: not its text, and not where files are."""

    async def fail(_: object, *, who: Caller) -> object:
        raise RuntimeError(f"password=hunter2 in /home/ada for {who.agent}")

    programs = target.engine.programs
    assert isinstance(programs, CodeRunner)
    answer = await programs.bound_to(fail, engine=target.engine).run_code(
        RunCodeRequest(code="try:\n  recall('x')\nexcept Exception as error:\n  result = repr(error)"), who=MALLORY
    )
    assert "recall failed inside the memory" in str(answer.result)
    assert "hunter2" not in str(answer)
    assert "/home" not in str(answer)


async def test_runaway(target: Target) -> None:
    """A worker that does not stop is killed and replaced, and the programs of others go on meanwhile."""
    runaway = asyncio.create_task(target.run(UNSTOPPABLE))
    await asyncio.sleep(0.1)
    for _ in range(3):
        await target.require_unharmed()
    answer = await runaway
    assert "it did not stop at its time limit" in answer.error
    assert answer.hint
    for _ in range(3):
        await target.require_unharmed()


async def test_cancelled(target: Target) -> None:
    """A program ends with its caller, and its worker is free again."""
    for _ in range(3):
        task = asyncio.create_task(target.run("while True:\n  pass"))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    await target.require_unharmed()


async def test_wall(target: Target) -> None:
    """Behind bubblewrap a worker has no network, no environment, no files but its program, and can write nothing."""
    status = await target.service.call(StatusRequest(), who=Caller())
    if status.code["wall"] != Wall.BUBBLEWRAP:
        assert not REQUIRED, status.code
        pytest.skip(f"bubblewrap: {status.code.get('why')}")
    shell = Path(shutil.which("bash") or "")
    with socket.create_server(("127.0.0.1", 0)) as server:
        probe = (
            f"(exec 3<>/dev/tcp/127.0.0.1/{server.getsockname()[1]}) && echo network;"
            " (read -r line < /etc/passwd) && echo file; (echo x > /written) && echo wrote;"
            " (echo x > /tmp/x) && echo wrote;"
            ' for name in /* /home/* /root/* /proc/*; do echo "see $name"; done; export -p;'
            f" kill -0 {os.getpid()} && echo process"
        )
        done = await asyncio.to_thread(
            subprocess.run, [*wall_command(shell, Wall.BUBBLEWRAP, LIMITS), "-c", probe], capture_output=True,
            text=True, check=False, timeout=30, env={**os.environ, "API_KEY": "hunter2"},
        )  # fmt: skip
    lines = done.stdout.splitlines()
    seen = {line.removeprefix("see ") for line in lines if line.startswith("see ")}
    assert "/program" in seen, done.stderr
    assert seen <= {"/program", "/lib", "/lib64", "/usr", "/home/*", "/root/*", "/proc/*"}
    assert not {"network", "file", "wrote", "process"} & {*lines}
    assert "hunter2" not in done.stdout
    assert {line.split("=")[0].split()[-1] for line in lines if line.startswith("declare")} <= {
        "PWD",
        "OLDPWD",
        "SHLVL",
    }


async def test_wall_around_the_worker(target: Target) -> None:
    """The worker that runs programs is itself behind the wall: in other namespaces, with an empty environment."""
    programs = target.engine.programs
    assert isinstance(programs, CodeRunner)
    walled = await programs.pool.wall()
    if walled.wall is not Wall.BUBBLEWRAP:
        assert not REQUIRED, walled.why
        pytest.skip(f"bubblewrap: {walled.why}")
    async with programs.pool.session(now=None, modules={}) as session:
        assert await session.feed_run("1 + 1") == 2
        worker = innermost_child(session.worker_pid or 0)
        assert Path(f"/proc/{worker}/cmdline").read_bytes().split(b"\0")[0] == b"/program"
        for kind in ("net", "pid", "mnt", "ipc", "uts", "user"):
            assert Path(f"/proc/{worker}/ns/{kind}").readlink() != Path(f"/proc/self/ns/{kind}").readlink(), kind
        # bubblewrap itself sets the one variable.
        names = {line.partition(b"=")[0] for line in Path(f"/proc/{worker}/environ").read_bytes().split(b"\0")}
        assert names <= {b"", b"PWD"}
        network = Path(f"/proc/{worker}/net/dev").read_text(encoding="ascii").splitlines()[2:]
        assert [line.split(":")[0].strip() for line in network] in ([], ["lo"])


async def test_demanded_wall(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a wall is demanded and there is none, no program runs, and `doctor` says so."""
    monkeypatch.setenv("PATH", str(tmp_path))
    async with open_curated(tmp_path) as memory, open_target(memory, policy=WallPolicy.REQUIRED) as target:
        for _ in range(3):
            # A program that could not start is not counted as one around the next.
            with pytest.raises(WrongState, match=r"bwrap is not installed|a program of Linux"):
                await target.run("1")
        report = await target.service.call(DoctorRequest(), who=Caller())
        (check,) = (check for check in report.checks if check.name == "programs")
        assert (check.ok, "refused" in check.detail) == (False, True)
    async with open_curated(tmp_path / "auto") as memory, open_target(memory) as target:
        assert (await target.run("1 + 1")).result == 2
        status = await target.service.call(StatusRequest(), who=Caller())
        assert (status.code["wall"], bool(status.code["why"])) == (Wall.PROCESS, True)
