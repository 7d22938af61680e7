"""Calls of every verb of `/call`."""

import json

from scrubjay.model.caller import Access
from scrubjay.model.memory import Json
from scrubjay.model.verbs import VERBS, Verb
from tests.scenarios.rest_calls import branch_for, import_lines, program_for, skill_for
from tests.scenarios.tenant_data import CallInputs, HttpRequest, Operation

_Arguments = dict[str, Json]
_PLENTY = 100_000
_NONE: _Arguments = {}


def _arguments(verb: str, inputs: CallInputs) -> _Arguments:
    words = inputs.words
    selection: _Arguments = {
        "ids": [inputs.ref, inputs.other], "group": inputs.every(2), "reason": words[4], "dry_run": inputs.every(3),
    }  # fmt: skip
    draft: _Arguments = {
        "text": inputs.text, "title": f"Title of {words[4]}", "name": inputs.name, "entities": [words[5]],
        "tags": [words[6]], "project": words[7], "source": {"session": words[8], "agent": words[9]},
        "metadata": {words[10]: words[11]}, "idempotency_key": inputs.key,
    }  # fmt: skip
    edit: _Arguments = {
        "title": f"Title of {words[4]}", "tags": [words[5]], "add_observations": [words[6]],
        "message": words[7], "idempotency_key": inputs.key, "expected_version": 1 if inputs.every(3) else None,
    }  # fmt: skip
    question: _Arguments = {
        "query": inputs.label if inputs.every(2) else "the jay hid", "limit": 2, "max_tokens": _PLENTY, "explain": True,
        "filter": {"tags": [inputs.label]} if inputs.every(3) else {}, "around": inputs.number % 3,
        "contains": "jay" if inputs.every(5) else "", "today": "2026-05-31T00:00:00Z" if inputs.every(4) else None,
        "as_of": "2027-11-01T00:00:00Z" if inputs.every(7) else None, "branch": branch_for(inputs),
    }  # fmt: skip
    arguments: dict[str, _Arguments] = {
        "remember": draft,
        "remember_many": {"items": [draft, {"text": words[4]}, {"bogus": 1}], "atomic": inputs.every(3)},
        "recall": {**question, "cursor": inputs.cursor if inputs.every(4) else ""},
        "read": {"ids": [inputs.ref, inputs.other], "format": "json" if inputs.every(2) else "markdown"},
        "search_text": {"query": inputs.label if inputs.every(2) else '"the jay" hid*', "limit": 3},
        "revise": {"id": inputs.ref, **edit},
        "forget": selection,
        "restore": {**selection, "branch": branch_for(inputs) if inputs.every(3) else ""},
        "confirm": selection,
        "purge": selection,
        "relate": {"source": inputs.ref, "target": inputs.other, "relation": words[4], "text": words[5]},
        "unrelate": {"source": inputs.ref, "target": inputs.other},
        "history": {
            "id": inputs.ref, "limit": 3, "branch": "draft" if inputs.every(3) else "",
            "diff": [1, branch_for(inputs) if inputs.every(2) else 1 + inputs.number % 3] if inputs.every(4) else None,
        },
        "revert": {"id": inputs.ref, "to": 1, "message": words[4], "idempotency_key": inputs.key},
        "commit": {"id": inputs.ref, "message": words[4], "idempotency_key": inputs.key},
        "branch": {
            "id": inputs.ref, "name": branch_for(inputs), "description": words[4], "switch": inputs.every(3),
            "at": 1 if inputs.every(4) else None,
        },
        "branches": {"id": inputs.ref},
        "switch": {"id": inputs.ref, "name": branch_for(inputs)},
        "drop_branch": {"id": inputs.ref, "name": branch_for(inputs)},
        "merge_branch": {
            "id": inputs.ref, "name": branch_for(inputs), "prefer": "theirs" if inputs.every(2) else "",
            "message": words[4], "idempotency_key": inputs.key,
        },
        "conflicts": {"status": "all" if inputs.every(2) else "pending", "id": inputs.ref if inputs.every(3) else ""},
        "probe_conflicts": {"drafts": [draft], "threshold": 0.3},
        "scan_conflicts": {"limit": 5},
        "duplicates": {"id": inputs.ref if inputs.every(2) else "", "merge": inputs.every(5), "limit": 5},
        "run_code": {"code": program_for(inputs)},
        "save_skill": skill_for(inputs),
        "list_skills": {"query": inputs.label if inputs.every(2) else "", "limit": 5},
        "load_skill": {"name": inputs.ref},
        "run_skill": {"name": inputs.ref},
        "prune": {"days": 90, "keep": 1_000, "dry_run": inputs.every(2), "limit": 5},
        "curate": {"jobs": ["tiers"] if inputs.every(2) else [], "dry_run": inputs.every(3), "limit": 5},
        "curations": {"run": inputs.ref if inputs.every(4) else "", "limit": 2, "changes": 5},
        # Scheduled after the test: whether the job has run must not matter.
        "scan_later": {"after": 86_400},
        "resolve_conflict": {"id": inputs.ref, "strategy": "auto", "notes": words[4]},
        "graph": {"ids": [inputs.ref, inputs.other], "depth": 1 + inputs.number % 4, "limit": 50},
        "related": {"id": inputs.ref, "limit": 50},
        "due": {"by": "2030-01-01T00:00:00Z" if inputs.every(2) else None, "limit": 50},
        "health": {"days": 1 + inputs.number % 90, "all_spaces": inputs.every(5)},
        "usage": {"days": 1 + inputs.number % 90, "limit": 50},
        "summarize": {
            "filter": {"tags": [inputs.label]} if inputs.every(2) else {"since": "2000-01-01T00:00:00Z"},
            "max_tokens": _PLENTY,
        },
        "path": {"source": inputs.ref, "target": inputs.other, "direction": ("out", "in", "both")[inputs.number % 3]},
        "create_entities": {"entities": [{"name": inputs.name, "entityType": words[4], "observations": [inputs.text]}]},
        "update_entity": {"id": inputs.ref, "changes": {"add_observations": [words[4]], "source_session": words[5]}},
        "search_nodes": {"query": inputs.label if inputs.every(2) else inputs.name, "limit": 3},
        "get_memory_status": _NONE,
        "extract": {
            "text": f"{words[4]}: I prefer {words[5]} to {words[6]}.\n{words[7]}: {inputs.text}", "session": words[8],
            "method": "patterns", "store": not inputs.every(3), "me": words[4] if inputs.every(2) else "",
        },
        "context": {"session": words[4], "project": inputs.label if inputs.every(2) else "", "max_tokens": _PLENTY},
        "undo": {} if inputs.every(4) else {"run": inputs.run, "idempotency_key": inputs.key},
        "outcome": {"runs": [inputs.run, inputs.ref]},
        "backup": {"target": "/dev/null/never"},
        "reembed": {"model": "none"},
        "spaces": {"name": inputs.label if inputs.every(2) else ""},
        "create_token": {"name": words[4], "spaces": [inputs.home]},
        "revoke_token": {"ref": inputs.ref},
        "export": {"format": "kg" if inputs.every(2) else "scrubjay"},
        # Not a rule that would hide the writes of others.
        "set_rules": {"never": [words[4]], "window_days": 3},
        "tags": {"limit": 50},
        "add_synonyms": {"tag": words[5], "variants": [words[6]]},
        "remove_synonyms": {"variants": [inputs.label]},
        "preview_tags": {"tags": [words[4], inputs.label], "text": inputs.text},
        "inbox": {"limit": 5},
        "approve": selection,
        "decline": selection,
        "jobs": {"limit": 5},
        "retry_job": {"id": inputs.ref},
        "cancel_job": {"id": inputs.ref},
        "write_note": {
            "title": f"Title of {words[4]}", "content": inputs.text, "tags": [words[5]], "category": words[6],
            "template": "meeting" if inputs.every(4) else "", "idempotency_key": inputs.key,
        },
        "read_note": {"identifier": inputs.ref, "format": ("markdown", "plain", "json")[inputs.number % 3]},
        "edit_note": {
            "id": inputs.ref, "title": f"Title of {words[4]}", "tags": [words[5]], "category": words[6],
        },
        "search_notes": {"query": inputs.label if inputs.every(2) else "the jay hid", "limit": 3},
        "link_notes": {"source_id": inputs.ref, "target_id": inputs.other, "link_text": words[4]},
        "unlink_notes": {"source_id": inputs.ref, "target_id": inputs.other},
        # By the day, because the time changes with every second.
        "current_date": {"format": "date_only", "timezone": "Europe/Berlin"},
        "review_note": {"id": inputs.ref},
        "due_notes": {"days": 0, "limit": 5},
        "backlinks": {"id": inputs.ref},
        "broken_links": {"limit": 5},
        "attach_file": {"note": inputs.ref, "name": f"{words[4]}.txt", "data": "d29yZHM=", "caption": words[5]},
        "attach_path": {"note": inputs.ref, "path": "/dev/null/never"},
        "note_attachments": {"note": inputs.ref},
        "export_notes": {"target": "/dev/null/never/x.json", "format": "json"},
        "import_notes": {"folder": "/dev/null/never", "dry_run": True},
        "adopt_notes": {"folder": "/dev/null/never", "dry_run": True},
        **dict.fromkeys(("note_categories", "note_templates", "sync_notes", "orphaned_files"), _NONE),
        **dict.fromkeys(("status", "doctor", "tokens", "embed_missing", "import", "rules"), _NONE),
    }  # fmt: skip
    return arguments[verb]


def call(verb: str, inputs: CallInputs, *, also: tuple[str, ...] = ()) -> HttpRequest:
    """Make a frame for a verb; `also` names additional spaces to search."""
    who: dict[str, Json] = {"agent": inputs.words[3], "run": inputs.run}
    who |= {"space": inputs.space} if inputs.space else {}
    who |= {"also": list(also)} if also else {}
    lines: list[Json] = [{"who": who, "args": _arguments(verb, inputs)}]
    lines += import_lines(inputs) if verb == "import" else []
    body = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    return HttpRequest(method="POST", path=f"/call/{verb}", headers={"content-type": "application/json"}, body=body)


def _operation(verb: Verb) -> Operation:
    return Operation(
        name=f"call/{verb.name}",
        make=lambda inputs: call(verb.name, inputs),
        # The program of the tests only reads.
        writes=not (verb.reads or verb.needs is Access.READ),
        closed=verb.needs is Access.OWNER or verb.all_spaces,
    )


CALLS: tuple[Operation, ...] = tuple(_operation(VERBS[name]) for name in sorted(VERBS))
