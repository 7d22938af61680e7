"""Every verb of `/call`."""

import json

from scrubjay.model.memory import Json
from scrubjay.rpc.names import ALL_SPACES_ONLY, OWNER_ONLY, READS, VERBS
from tests.scenarios.rest_calls import branch_for, import_lines
from tests.scenarios.tenant_data import Ask, Deed, Given

_Arguments = dict[str, Json]
_PLENTY = 100_000
_NONE: _Arguments = {}


def _arguments(verb: str, given: Given) -> _Arguments:
    words = given.words
    selection: Json = {
        "refs": [given.ref, given.other], "group": given.every(2), "reason": words[4], "dry_run": given.every(3),
    }  # fmt: skip
    draft: Json = {
        "text": given.text, "title": f"Title of {words[4]}", "name": given.name, "entities": [words[5]],
        "tags": [words[6]], "project": words[7], "source": {"session": words[8], "agent": words[9]},
        "metadata": {words[10]: words[11]}, "idempotency_key": given.key,
    }  # fmt: skip
    edit: Json = {
        "fields": {"title": f"Title of {words[4]}", "tags": [words[5]]}, "add_observations": [words[6]],
        "message": words[7], "idempotency_key": given.key, "expected_version": 1 if given.every(3) else None,
    }  # fmt: skip
    question: Json = {
        "query": given.label if given.every(2) else "the jay hid", "limit": 2, "max_tokens": _PLENTY, "explain": True,
        "filter": {"tags": [given.label]} if given.every(3) else {}, "around": given.number % 3,
        "contains": "jay" if given.every(5) else "", "today": "2026-05-31T00:00:00Z" if given.every(4) else None,
        "as_of": "2027-11-01T00:00:00Z" if given.every(7) else None, "branch": branch_for(given),
    }  # fmt: skip
    results: dict[str, _Arguments] = {
        "remember": {"draft": draft},
        "recall": {"question": question, "cursor": given.cursor if given.every(4) else ""},
        "read": {"refs": [given.ref, given.other], "format": "json" if given.every(2) else "markdown"},
        "search_text": {"asked": {"query": given.label if given.every(2) else '"the jay" hid*', "limit": 3}},
        "revise": {"ref": given.ref, "edit": edit},
        "forget": {"selection": selection},
        "restore": {"selection": {**selection, "branch": branch_for(given) if given.every(3) else ""}},
        "purge": {"selection": selection},
        "relate": {"source": given.ref, "target": given.other, "relation": words[4], "text": words[5]},
        "unrelate": {"source": given.ref, "target": given.other},
        "history": {"ref": given.ref, "limit": 3, "branch": "draft" if given.every(3) else ""},
        "diff": {"ref": given.ref, "versions": [1, branch_for(given) if given.every(2) else 1 + given.number % 3]},
        "revert": {"ref": given.ref, "to": 1, "message": words[4], "idempotency_key": given.key},
        "commit": {"ref": given.ref, "message": words[4], "idempotency_key": given.key},
        "branch": {
            "ref": given.ref, "name": branch_for(given), "description": words[4], "at": 1 if given.every(4) else None,
            "switch": given.every(3),
        },
        "branches": {"ref": given.ref},
        "switch": {"ref": given.ref, "name": branch_for(given)},
        "drop_branch": {"ref": given.ref, "name": branch_for(given)},
        "merge_branch": {
            "ref": given.ref, "name": branch_for(given), "prefer": "theirs" if given.every(2) else "",
            "message": words[4], "idempotency_key": given.key,
        },
        "conflicts": {"status": "all" if given.every(2) else "pending", "ref": given.ref if given.every(3) else ""},
        "probe_conflicts": {"drafts": [draft], "threshold": 0.3},
        "scan_conflicts": {"limit": 5},
        # Done later than anybody looks: whether it is done already is a matter of time.
        "scan_later": {"after": 86_400},
        "resolve_conflict": {"conflict_id": given.ref, "strategy": "auto", "notes": words[4]},
        "graph": {"refs": [given.ref, given.other], "depth": given.number % 4, "limit": 50},
        "path": {"source": given.ref, "target": given.other, "direction": ("out", "in", "both")[given.number % 3]},
        "create_entities": {"entities": [{"name": given.name, "entityType": words[4], "observations": [given.text]}]},
        "update_entity": {"ref": given.ref, "changes": {"add_observations": [words[4]], "source_session": words[5]}},
        "search_nodes": {"query": given.label if given.every(2) else given.name, "limit": 3},
        "get_memory_status": _NONE,
        "extract": {
            "text": f"{words[4]}: I prefer {words[5]} to {words[6]}.\n{words[7]}: {given.text}", "session": words[8],
            "method": "patterns", "store": not given.every(3), "me": words[4] if given.every(2) else "",
        },
        "context": {"session": words[4], "project": given.label if given.every(2) else "", "max_tokens": _PLENTY},
        "undo": {} if given.every(4) else {"run": given.run, "idempotency_key": given.key},
        "outcome": {"runs": [given.run, given.ref]},
        "backup": {"target": "/dev/null/never"},
        "create_token": {"wish": {"name": words[4], "spaces": [given.home]}},
        "revoke_token": {"ref": given.ref},
        "export": {"format": "kg" if given.every(2) else "scrubjay"},
        # Never one that keeps the others' writes from being seen.
        "set_rules": {"changes": {"never": [words[4]], "window_days": 3}},
        "tags": {"limit": 50},
        "add_synonyms": {"tag": words[5], "variants": [words[6]]},
        "remove_synonyms": {"variants": [given.label]},
        "preview_tags": {"tags": [words[4], given.label], "text": given.text},
        "inbox": {"limit": 5},
        "approve": {"selection": selection},
        "decline": {"selection": selection},
        "jobs": {"limit": 5},
        "retry_job": {"job_id": given.ref},
        "cancel_job": {"job_id": given.ref},
        "write_note": {
            "draft": {
                "title": f"Title of {words[4]}", "content": given.text, "tags": [words[5]], "category": words[6],
                "template": "meeting" if given.every(4) else "", "idempotency_key": given.key,
            },
        },
        "read_note": {"identifier": given.ref, "format": ("markdown", "plain", "json")[given.number % 3]},
        "edit_note": {
            "id": given.ref, "edit": {"title": f"Title of {words[4]}", "tags": [words[5]], "category": words[6]},
        },
        "search_notes": {"request": {"query": given.label if given.every(2) else "the jay hid", "limit": 3}},
        "link_notes": {"source_id": given.ref, "target_id": given.other, "link_text": words[4]},
        "unlink_notes": {"source_id": given.ref, "target_id": given.other},
        # What changes with every second is asked for by the day.
        "current_date": {"format": "date_only", "timezone": "Europe/Berlin"},
        "review_note": {"id": given.ref},
        "due_notes": {"days": 0, "limit": 5},
        "backlinks": {"id": given.ref},
        "broken_links": {"limit": 5},
        "attach_file": {"note": given.ref, "name": f"{words[4]}.txt", "data": "d29yZHM=", "caption": words[5]},
        "attach_path": {"note": given.ref, "path": "/dev/null/never"},
        "note_attachments": {"note": given.ref},
        "export_notes": {"target": "/dev/null/never/x.json", "selection": {}, "format": "json"},
        "import_notes": {"folder": "/dev/null/never", "dry_run": True},
        **dict.fromkeys(("note_categories", "note_templates", "sync_notes", "orphaned_files"), _NONE),
        **dict.fromkeys(("status", "doctor", "tokens", "embed_missing", "import_", "rules"), _NONE),
    }  # fmt: skip
    return results[verb]


def call(verb: str, given: Given, *, also: tuple[str, ...] = ()) -> Ask:
    """A frame for a verb; `also` are further spaces that it wants to look in."""
    who: dict[str, Json] = {"agent": given.words[3], "run": given.run}
    who |= {"space": given.space} if given.space else {}
    who |= {"also": list(also)} if also else {}
    lines: list[Json] = [{"who": who, "args": _arguments(verb, given)}]
    lines += import_lines(given) if verb == "import_" else []
    body = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    return Ask(method="POST", path=f"/call/{verb}", headers={"content-type": "application/json"}, body=body)


def _deed(verb: str) -> Deed:
    return Deed(
        name=f"call/{verb}",
        make=lambda given: call(verb, given),
        writes=verb not in READS and verb != "export",
        closed=verb in OWNER_ONLY | ALL_SPACES_ONLY,
    )


CALLS: tuple[Deed, ...] = tuple(_deed(verb) for verb in sorted(VERBS))
