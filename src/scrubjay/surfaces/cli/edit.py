"""`scrubjay edit`: a memory in the editor of its user."""

import os
import shlex
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import typer

from scrubjay.client import MemoryClient
from scrubjay.errors import InvalidInput, ScrubjayError
from scrubjay.model.memory import Memory, Source, Trust
from scrubjay.model.requests import ReviseRequest
from scrubjay.model.results import Written
from scrubjay.surfaces.cli.command import Make, verb

app = typer.Typer()

_FACTS = "<!-- Facts, one an item. -->"
_ITEM, _INDENT = "- ", "  "
_IN_THE_TEXT = ("text", "observations", "add_observations", "remove_observations", "expected_version", "source")


@verb(app, name="edit", omits=_IN_THE_TEXT)
async def edit(client: MemoryClient, make: Make[ReviseRequest]) -> Written | str:
    """Change a memory in your editor.

    The editor is that of VISUAL or EDITOR. If the memory changes meanwhile, nothing is overwritten, and your text is
    kept in a file.
    """
    request = make()
    result = await client.read([request.id], branch=request.branch)
    if not result.memories:
        # It says what is missing, and which names are similar.
        return await client.call(request)
    memory = result.memories[0]
    file = _edit(_to_text(memory), name=memory.name)
    try:
        changed = _changes(memory, file.read_text(encoding="utf-8"))
        if not changed and request == ReviseRequest(id=request.id, branch=request.branch):
            file.unlink()
            return "nothing was changed"
        written = await client.call(
            replace(request, **changed, expected_version=memory.version, source=Source(trust=Trust.USER))
        )
    except UnicodeDecodeError:
        raise InvalidInput("the text is not UTF-8, so nothing was changed", hint=f"It is kept in {file}") from None
    except ScrubjayError as error:
        error.hint = f"{error.hint}. Your text is kept in {file}" if error.hint else f"Your text is kept in {file}"
        raise
    file.unlink()
    return written


def _to_text(memory: Memory) -> str:
    parts = [memory.content.rstrip("\n")] if memory.content else []
    if memory.observations:
        items = [_ITEM + each.text.replace("\n", f"\n{_INDENT}") for each in memory.observations]
        parts.append("\n".join([_FACTS, *items]))
    return "\n\n".join(parts) + "\n"


def _changes(memory: Memory, text: str) -> dict[str, str | tuple[str, ...]]:
    """Return the fields of a request for what was changed in the text."""
    content, marker, facts = text.rpartition(_FACTS) if memory.observations else (text, "", "")
    if not marker:
        content, facts = text, ""
    before = [each.text for each in memory.observations]
    after = _facts(facts)
    changed: dict[str, str | tuple[str, ...]] = {}
    # An editor adds the last line end.
    if content.strip() != memory.content.strip():
        changed["text"] = content.strip("\n")
    if removed := tuple(fact for fact in before if fact not in after):
        changed["remove_observations"] = removed
    if added := tuple(fact for fact in dict.fromkeys(after) if fact not in before):
        changed["add_observations"] = added
    return changed


def _facts(text: str) -> list[str]:
    facts: list[str] = []
    for line in text.splitlines():
        if line.startswith(_ITEM) or (line.strip() and not facts):
            facts.append(line.removeprefix(_ITEM))
        elif facts:
            facts[-1] += "\n" + line.removeprefix(_INDENT)
    return [fact.rstrip("\n") for fact in facts if fact.strip()]


def _edit(text: str, *, name: str) -> Path:
    """Let the user edit a text; return its file."""
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ("notepad" if sys.platform == "win32" else "vi")
    handle, path = tempfile.mkstemp(prefix=f"{name[:40]}-", suffix=".md")
    file = Path(path)
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(text)
    try:
        code = subprocess.run([*shlex.split(command), path], check=False).returncode  # noqa: S603 - the user's own
    except (OSError, ValueError) as error:
        file.unlink()
        raise InvalidInput(f"the editor {command!r} does not start ({error})", hint="Set EDITOR") from None
    if code:
        is_same = file.read_bytes() == text.encode()
        if is_same:
            file.unlink()
        raise InvalidInput(
            f"the editor ended with code {code}, so nothing was changed",
            hint="" if is_same else f"Your text is kept in {file}",
        )
    return file
