"""`python -m interop [PART ...]`: tries Scrubjay with the clients and suites of others."""

import argparse
import asyncio
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from interop import conformance, inspector, openapi, sdks
from interop.checks import Check, Stage, run_all
from interop.fixture import TOOLSET
from interop.paths import Workshop
from interop.processes import Failed
from interop.servers import serving

# One line for each sort of client; a new one is a module with `checks(stage)`.
PARTS: Mapping[str, Callable[[Stage], list[Check]]] = {
    "inspector": inspector.checks,
    "conformance": conformance.checks,
    "sdks": sdks.checks,
    "openapi": openapi.checks,
}


async def try_all(parts: Sequence[str]) -> int:
    """Try these parts; returns the exit code."""
    _obey_terminations()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="scrubjay-interop-") as folder:
        try:
            job_runner = Workshop.open(Path(folder))
            async with (
                serving(job_runner, module="scrubjay", tools="core") as daemon,
                serving(job_runner, module="interop.fixture", tools=f"core,{TOOLSET}") as fixture,
            ):
                stage = Stage(job_runner=job_runner, daemon=daemon, fixture=fixture)
                checks = [check for part in parts for check in PARTS[part](stage)]
                failed = await run_all(checks)
                after = [Check(name="the daemon's log", run=daemon.has_logged_no_error)]
                failed += await run_all(after)
        except Failed as error:
            print(f"FAIL {error}", file=sys.stderr)
            return 1
    tried = len(checks) + len(after)
    print(f"{tried - failed} of {tried} checks passed in {time.monotonic() - began:.0f} s")
    return 1 if failed else 0


def _obey_terminations() -> None:
    """Being told to end is as Ctrl-C: what was started is ended first."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)


def main() -> int:
    """Read the command line and go."""
    parser = argparse.ArgumentParser(prog="python -m interop", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all of them by default")
    parts = parser.parse_args().parts or list(PARTS)
    if unknown := [part for part in parts if part not in PARTS]:
        parser.error(f"there is no part {unknown[0]}; there are {', '.join(PARTS)}")
    try:
        return asyncio.run(try_all(parts))
    except (KeyboardInterrupt, asyncio.CancelledError):
        print("interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
