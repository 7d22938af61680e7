"""The official SDKs as clients: TypeScript and Python, before 2.0 and since."""

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from interop.checks import Check, Stage
from interop.paths import OLD_SDK
from interop.processes import run
from interop.servers import ERAS, OLDER, TRANSPORTS

_JOURNEY = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sdk:
    """An SDK, our script that uses it, and the revisions that it supports."""

    name: str
    script: str
    eras: tuple[str, ...]
    # The first entry of the module search path.
    packages: Path | None = None


_SDKS = (
    _Sdk(name="typescript 1.x", script="sdk1.mjs", eras=(OLDER,)),
    _Sdk(name="typescript 2.x", script="sdk2.mjs", eras=ERAS),
    _Sdk(name="python 1.x", script="sdk1.py", eras=(OLDER,), packages=OLD_SDK),
    _Sdk(name="python 2.x", script="sdk2.py", eras=ERAS),
)


def checks(stage: Stage) -> list[Check]:
    """Return checks of each SDK on the daemon, and on the fixture for progress and cancellation."""
    return [
        Check(
            name=f"{sdk.name}, {part}, {transport}, {era}",
            run=_Journey(stage=stage, sdk=sdk, part=part, transport=transport, era=era).run_script,
        )
        for sdk in _SDKS
        for part in ("memory", "fixture")
        for transport in TRANSPORTS
        for era in sdk.eras
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Journey:
    stage: Stage
    sdk: _Sdk
    part: str
    transport: str
    era: str

    async def run_script(self) -> str:
        workspace = self.stage.workspace
        server = self.stage.daemon if self.part == "memory" else self.stage.fixture
        program = workspace.node if self.sdk.script.endswith(".mjs") else sys.executable
        environment = workspace.environment
        if self.sdk.packages is not None:
            environment["PYTHONPATH"] = os.pathsep.join((str(self.sdk.packages), environment["PYTHONPATH"]))
        done = await run(
            [
                program,
                workspace.script(self.sdk.script),
                self.part,
                self.era,
                self.transport,
                *server.reached_by(self.transport),
            ],
            environment=environment,
            folder=workspace.folder,
            seconds=_JOURNEY,
        )
        steps: list[str] = json.loads(done.must_succeed())["steps"]
        return f"{len(steps)} step{'s' if len(steps) > 1 else ''}"
