"""The official SDKs as clients: TypeScript and Python, before 2.0 and since."""

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from interop.checks import Check, Stage
from interop.paths import OLD_SDK
from interop.processes import run
from interop.servers import ERAS, OLDER, WAYS

_JOURNEY = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sdk:
    """One SDK: the script of ours that uses it, and the revisions that it speaks."""

    name: str
    script: str
    eras: tuple[str, ...]
    # In front of all other packages.
    packages: Path | None = None


_SDKS = (
    _Sdk(name="typescript 1.x", script="sdk1.mjs", eras=(OLDER,)),
    _Sdk(name="typescript 2.x", script="sdk2.mjs", eras=ERAS),
    _Sdk(name="python 1.x", script="sdk1.py", eras=(OLDER,), packages=OLD_SDK),
    _Sdk(name="python 2.x", script="sdk2.py", eras=ERAS),
)


def checks(stage: Stage) -> list[Check]:
    """Each SDK on the daemon, for the memory, and on the fixture, for what takes long."""
    return [
        Check(
            name=f"{sdk.name}, {part}, {way}, {era}",
            run=_Journey(stage=stage, sdk=sdk, part=part, way=way, era=era).take,
        )
        for sdk in _SDKS
        for part in ("memory", "fixture")
        for way in WAYS
        for era in sdk.eras
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Journey:
    stage: Stage
    sdk: _Sdk
    part: str
    way: str
    era: str

    async def take(self) -> str:
        job_runner = self.stage.job_runner
        server = self.stage.daemon if self.part == "memory" else self.stage.fixture
        program = job_runner.node if self.sdk.script.endswith(".mjs") else sys.executable
        environment = job_runner.environment
        if self.sdk.packages is not None:
            environment["PYTHONPATH"] = os.pathsep.join((str(self.sdk.packages), environment["PYTHONPATH"]))
        done = await run(
            [program, job_runner.script(self.sdk.script), self.part, self.era, self.way, *server.reached_by(self.way)],
            environment=environment,
            folder=job_runner.folder,
            seconds=_JOURNEY,
        )
        steps: list[str] = json.loads(done.must_succeed())["steps"]
        return f"{len(steps)} step{'s' if len(steps) > 1 else ''}"
