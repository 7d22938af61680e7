"""`python -m interop [PART ...]`: tests Scrubjay with third-party clients and test suites."""

import argparse
import asyncio
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from interop import conformance, inspector, openapi, scripts, sdks
from interop.checks import Check, Stage, run_all
from interop.fixture import TOOLSET
from interop.paths import Workspace
from interop.processes import Failed
from interop.servers import serving

# One line for each kind of client; a new kind is a module with `checks(stage)`.
PARTS: Mapping[str, Callable[[Stage], list[Check]]] = {
    "inspector": inspector.checks,
    "conformance": conformance.checks,
    "sdks": sdks.checks,
    "openapi": openapi.checks,
    "scripts": scripts.checks,
}


async def run_parts(parts: Sequence[str]) -> int:
    """Run these parts; return the exit code."""
    _cancel_on_sigterm()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="scrubjay-interop-") as folder:
        try:
            workspace = Workspace.open(Path(folder))
            async with (
                serving(workspace, module="scrubjay", tools="core") as daemon,
                serving(workspace, module="interop.fixture", tools=f"core,{TOOLSET}") as fixture,
            ):
                stage = Stage(workspace=workspace, daemon=daemon, fixture=fixture)
                checks = [check for part in parts for check in PARTS[part](stage)]
                failed = await run_all(checks)
                after = [Check(name="the daemon's log", run=daemon.has_logged_no_error)]
                failed += await run_all(after)
        except Failed as error:
            print(f"FAIL {error}", file=sys.stderr)
            return 1
    total = len(checks) + len(after)
    print(f"{total - failed} of {total} checks passed in {time.monotonic() - began:.0f} s")
    return 1 if failed else 0


def _cancel_on_sigterm() -> None:
    """Handle SIGTERM like Ctrl-C, so that all child processes are stopped first."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)


def main() -> int:
    """Read the command line and run the parts."""
    parser = argparse.ArgumentParser(prog="python -m interop", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all of them by default")
    parts = parser.parse_args().parts or list(PARTS)
    if unknown := [part for part in parts if part not in PARTS]:
        parser.error(f"there is no part {unknown[0]}; there are {', '.join(PARTS)}")
    try:
        return asyncio.run(run_parts(parts))
    except (KeyboardInterrupt, asyncio.CancelledError):
        print("interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
