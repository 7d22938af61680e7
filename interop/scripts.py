"""The types of the dashboard's scripts, which are plain JavaScript with JSDoc: TypeScript's compiler checks them."""

from collections.abc import Sequence
from dataclasses import dataclass

from interop.checks import Check, Stage
from interop.paths import ROOT
from interop.processes import Failed

_COMPILER = "typescript/lib/tsc.js"
_FOLDER = ROOT / "src/scrubjay/surfaces/dashboard/assets"
_OPTIONS = (
    "--noEmit", "--allowJs", "--checkJs", "--strict", "--noImplicitReturns", "--noUnusedLocals", "--noUnusedParameters",
    "--target", "es2022", "--module", "esnext", "--moduleResolution", "bundler", "--moduleDetection", "force",
)  # fmt: skip
# A worker has no document, and a page no messages of its own.
_LIBRARIES = {"page": "dom,dom.iterable,es2022", "worker": "webworker,es2022"}
_WORKERS = ("layout.js",)


def checks(stage: Stage) -> list[Check]:
    """Return a check of the scripts of pages, and one of those of workers."""
    scripts = sorted(path.name for path in _FOLDER.glob("*.js"))
    return [
        Check(name=f"types of the scripts of a {kind}", run=_TypeCheck(stage=stage, kind=kind, names=names).run)
        for kind, names in (
            ("page", [name for name in scripts if name not in _WORKERS]),
            ("worker", [name for name in scripts if name in _WORKERS]),
        )
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _TypeCheck:
    stage: Stage
    kind: str
    names: Sequence[str]

    async def run(self) -> str:
        files = [_FOLDER / name for name in self.names]
        done = await self.stage.workspace.run_package(
            _COMPILER, *_OPTIONS, "--lib", _LIBRARIES[self.kind], *files, seconds=120
        )
        if done.code:
            raise Failed(done.out.strip() or done.errors.strip())
        return ", ".join(self.names)
