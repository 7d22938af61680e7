"""A worker process that runs one verb for each line of JSON, and `Worker`, which controls it."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self, cast

from scrubjay.client import MemoryClient
from tests.scenarios.wiring import ROOT, environment, open_wiring

Answer = dict[str, object]


class Worker:
    """Controls a worker process: call it, or `send` now and `receive` later."""

    def __init__(self, home: Path, *, agent: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.scenarios.worker", str(home), agent],
            env=environment(home),
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()

    def __call__(self, verb: str, **options: object) -> Answer:
        self.send(verb, **options)
        return self.receive()

    def send(self, verb: str, **options: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"verb": verb, **options}) + "\n")
        self.process.stdin.flush()

    def receive(self) -> Answer:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the worker ended with {self.process.wait()}"
        answer = cast("Answer", json.loads(line))
        assert "error" not in answer, answer["error"]
        return answer

    def end(self) -> None:
        """Let the process finish normally."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait(timeout=60) == 0


async def work(home: Path, agent: str) -> None:
    """Run the verb of each line of standard input until its end."""
    loop = asyncio.get_running_loop()
    async with open_wiring(home) as wiring:
        memory = wiring.client(agent=agent)
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            request = json.loads(line)
            try:
                answer = await do(memory, request.pop("verb"), request)
            except Exception as error:  # noqa: BLE001 - the test must see any error
                answer = {"error": f"{type(error).__name__}: {error}"}
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


async def do(memory: MemoryClient, verb: str, options: dict[str, object]) -> Answer:
    if verb == "burst":
        count, prefix = cast("int", options["count"]), options["prefix"]
        done = await asyncio.gather(
            *(memory.remember(f"{prefix} burst number {number}", name=f"{prefix}-{number}") for number in range(count))
        )
        return {"ids": [memory.id for memory in done]}
    if verb == "status":
        return {"index": (await memory.status()).index, "memories": (await memory.status()).memories}
    if verb == "doctor":
        return {"ok": (await memory.doctor(deep=True, repair=True)).ok}
    answer = await getattr(memory, verb)(**options)
    if verb == "recall":
        return {"ids": [hit.id for hit in answer.hits], "degraded": answer.degraded}
    if verb == "read":
        return {
            "contents": [memory.content for memory in answer.memories],
            "versions": [memory.version for memory in answer.memories],
        }
    return {"id": getattr(answer, "id", ""), "version": getattr(answer, "version", 0)}


if __name__ == "__main__":
    asyncio.run(work(Path(sys.argv[1]), sys.argv[2]))
