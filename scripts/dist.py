"""Builds the wheel and the source distribution into dist/, installs them into an empty environment, and uses them.

pip makes a wheel of the source distribution, which must be the same as the wheel. It is installed with its dependencies
alone, in the versions of requirements/core.txt, as `pipx` and `uvx` install it: no file of the checkout is on the path.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx2

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
_PACKAGE = "scrubjay"
_PINNED = re.compile(r"^[A-Za-z0-9][^\\\n]*", re.MULTILINE)
_MODELS = ("scrubjay-en-1", "scrubjay-pairs-en-1")
_START_SECONDS = 60.0
# Of pip and of the search for packages; all else of the environment is left out.
_INHERITED = re.compile(r"PIP_|SSL_|REQUESTS_|HTTPS?_PROXY|NO_PROXY|TMPDIR", re.IGNORECASE)
_MCP_REVISION = "2026-07-28"


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """An environment of its own with the product, and a folder to use it in."""

    folder: Path

    @property
    def bin(self) -> Path:
        """The folder of its programs."""
        return self.folder / "venv" / "bin"

    @property
    def data(self) -> Path:
        """Its data folder."""
        return self.folder / "data"

    def run(self, *command: str | Path, stdin: str = "") -> str:
        """Run a command as a user of this environment would."""
        return run(*command, folder=self.folder, stdin=stdin, SCRUBJAY_HOME=str(self.data), PATH=self.path)

    def scrubjay(self, *arguments: str, stdin: str = "") -> str:
        """Run the program."""
        return self.run(self.bin / _PACKAGE, *arguments, stdin=stdin)

    @property
    def path(self) -> str:
        """The search path of a user who has activated the environment."""
        return os.pathsep.join((str(self.bin), os.defpath))


def main() -> int:
    """Build, install and use; stop at the first step that fails."""
    wheel, source = build()
    with tempfile.TemporaryDirectory(prefix="scrubjay-dist-") as folder:
        installed = Installed(folder=Path(folder))
        steps: dict[str, Callable[[], str]] = {
            "every file of the package is in the wheel": lambda: has_all_files(wheel),
            "pip makes the same wheel of the source distribution": lambda: is_same_wheel(wheel, source, installed),
            "an empty environment": lambda: install(wheel, installed),
            "the command line, with the bundled models": lambda: use_commands(installed),
            "notes, programs and Python": lambda: use_files(installed),
            "a server: REST, its page, and an MCP client over stdio": lambda: use_server(installed),
        }
        for name, step in steps.items():
            began = time.monotonic()
            summary = step()
            print(f"ok   {time.monotonic() - began:6.1f} s  {name}: {summary}", flush=True)
    print(f"{wheel.relative_to(ROOT)} and {source.relative_to(ROOT)} are built, and were installed and used")
    return 0


def build() -> tuple[Path, Path]:
    """Build both distributions from nothing."""
    for file in DIST.glob(f"{_PACKAGE}-*"):
        file.unlink()
    run(sys.executable, "-m", "hatchling", "build", "-d", DIST, folder=ROOT)
    (wheel,), (source,) = DIST.glob(f"{_PACKAGE}-*.whl"), DIST.glob(f"{_PACKAGE}-*.tar.gz")
    return wheel, source


def has_all_files(wheel: Path) -> str:
    """Check that models, dictionaries and type marker came along."""
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.startswith(f"{_PACKAGE}/")}
    listed = run("git", "ls-files", f"src/{_PACKAGE}", folder=ROOT).splitlines()
    must(packed >= {name.removeprefix("src/") for name in listed}, sorted(set(listed) - packed)[:5])
    return f"{len(packed)} files"


def is_same_wheel(wheel: Path, source: Path, installed: Installed) -> str:
    """Check that who installs from source gets the same."""
    pins = _pins(installed.folder / "build.txt", ROOT / "requirements" / "build.txt")
    target = installed.folder / "wheels"
    pip(
        sys.executable,
        "wheel",
        "--no-deps",
        "--wheel-dir",
        target,
        source,
        folder=installed.folder,
        PIP_CONSTRAINT=pins,
    )
    (made,) = target.glob("*.whl")
    must(_digests(made) == _digests(wheel), made.name)
    return made.name


def install(wheel: Path, installed: Installed) -> str:
    """Install the wheel and what it needs, and nothing else."""
    venv.create(installed.folder / "venv", with_pip=True, symlinks=True)
    pins = _pins(installed.folder / "core.txt", ROOT / "requirements" / "core.txt")
    python = installed.bin / "python"
    pip(python, "install", "--no-compile", "--constraint", pins, wheel, folder=installed.folder)
    pip(python, "check", folder=installed.folder)
    names = {
        _normal(item["name"]) for item in json.loads(pip(python, "list", "--format=json", folder=installed.folder))
    }
    locked = {
        _normal(re.split(r"[=;\[ ]", line)[0]) for line in _PINNED.findall(Path(pins).read_text(encoding="utf-8"))
    }
    others = names - locked - {_PACKAGE, "pip", "setuptools"}
    must(not others, f"not in requirements/core.txt: {sorted(others)}")
    return f"{len(names)} packages"


def use_commands(installed: Installed) -> str:
    """Remember, and recall by meaning: the question has no word of the text."""
    must(installed.scrubjay("--version").startswith(_PACKAGE), "no version")
    installed.scrubjay("remember", "Sarah of Acme prefers voice calls to email")
    installed.scrubjay("remember", "The release train leaves every second Tuesday")
    hits = json.loads(installed.scrubjay("recall", "how should one contact her?", "--limit", "1", "--json"))["hits"]
    must("voice calls" in hits[0]["passage"], hits)
    status = json.loads(installed.run(installed.bin / "python", "-m", _PACKAGE, "status", "--json"))
    must(all(model in json.dumps(status) for model in _MODELS), status)
    installed.scrubjay("doctor")
    must(
        "--data" not in installed.scrubjay("install", "cursor", "--print", "--data", "~/.local/share/scrubjay"),
        "an entry",
    )
    return ", ".join(_MODELS)


def use_files(installed: Installed) -> str:
    """Write a note, run a program beside the memory, and use the Python client."""
    note = json.loads(installed.scrubjay("notes", "write", "Tea", "Oolong, at four. See [[Sarah]].", "--json"))
    must("Oolong" in Path(note["file_path"]).read_text(encoding="utf-8"), note)
    shown = installed.scrubjay("code", "run", "-", stdin='len(recall("voice calls")["hits"])\n')
    must(shown.strip()[-1:].isdigit(), shown)
    code = (
        "from scrubjay import SyncMemoryClient\n"
        "memory = SyncMemoryClient(space='work')\n"
        "memory.remember('Standup is at 9:30')\n"
        "print(memory.recall('when is standup?').hits[0].passage)\n"
    )
    must(
        installed.run(installed.bin / "python", "-W", "error", "-c", code).strip() == "Standup is at 9:30", "other text"
    )
    return Path(note["file_path"]).name


def use_server(installed: Installed) -> str:
    """Serve over HTTP and through the bridge; stop at the end."""
    command = [str(installed.bin / _PACKAGE), "serve", "--http", "127.0.0.1:0", "--idle", "300"]
    environment = _environment(installed.folder, SCRUBJAY_HOME=str(installed.data), PATH=installed.path)
    log = installed.folder / "serve.log"
    with (
        log.open("wb") as file,
        subprocess.Popen(
            command, cwd=installed.folder, env=environment, stdin=subprocess.DEVNULL, stdout=file, stderr=file
        ) as server,
    ):
        try:
            address = _address(log, server)
            with httpx2.Client(base_url=address) as web:
                written = web.post("/api/v1/memories", json={"text": "The office closes at 6 pm"}).json()
                must(written["action"] == "created", written)
                answer = web.get("/api/v1/search", params={"q": "when does the office close", "limit": 1}).json()
                must("6 pm" in answer["hits"][0]["passage"], answer)
                must("/api/v1/memories" in web.get("/docs").text, "a page without operations")
                must(web.get("/").is_success, "no dashboard")
            client = ROOT / "interop" / "clients" / "sdk2.py"
            done = installed.run(
                installed.bin / "python", client, "memory", _MCP_REVISION, "stdio", installed.bin / _PACKAGE, "mcp"
            )
            installed.scrubjay("stop")
            must(server.wait(_START_SECONDS) == 0, log.read_text(encoding="utf-8")[-2_000:])
        finally:
            server.kill()
    return f"{len(json.loads(done)['steps'])} steps of the MCP client"


def run(*command: str | Path, folder: Path, stdin: str = "", **variables: str) -> str:
    """Run a command to its end, in an environment without the settings of this one; stop if it fails."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words, cwd=folder, env=_environment(folder, **variables), input=stdin, text=True, encoding="utf-8",
        capture_output=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def pip(python: str | Path, *arguments: str | Path, folder: Path, **variables: str) -> str:
    """Run pip in an environment."""
    return run(
        python, "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments, folder=folder,
        HOME=str(Path.home()), **variables,
    )  # fmt: skip


def must(condition: bool, observed: object) -> None:
    """Stop with what was observed unless the condition holds."""
    if not condition:
        raise SystemExit(f"not as expected: {str(observed)[:2_000]}")


def _environment(folder: Path, **variables: str) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if _INHERITED.match(name)}
    return {
        "HOME": str(folder),
        "PATH": os.environ.get("PATH", os.defpath),
        "PYTHONUTF8": "1",
        **inherited,
        **variables,
    }


def _pins(target: Path, lock: Path) -> str:
    """Write the versions of a lock without hashes, which pip would then ask of the wheel too; return the path."""
    target.write_text(
        "\n".join(line.strip() for line in _PINNED.findall(lock.read_text(encoding="utf-8"))), encoding="utf-8"
    )
    return str(target)


def _digests(wheel: Path) -> dict[str, str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: hashlib.sha256(archive.read(name)).hexdigest() for name in archive.namelist()}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _address(log: Path, server: "subprocess.Popen[bytes]") -> str:
    """Wait for the banner, and return the address that it names."""
    end = time.monotonic() + _START_SECONDS
    while not (match := re.search(r"^  address +(\S+)$", log.read_text(encoding="utf-8"), re.MULTILINE)):
        must(server.poll() is None and time.monotonic() < end, log.read_text(encoding="utf-8")[-2_000:])
        time.sleep(0.05)
    return match[1]


if __name__ == "__main__":
    sys.exit(main())
