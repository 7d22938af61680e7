"""The verbs of the RPC protocol by kind; clients import them without the engine."""

READS = frozenset(
    {
        "recall", "read", "history", "diff", "status", "outcome", "tokens",
        "rules", "tags", "preview_tags", "inbox", "jobs", "branches", "graph", "path", "conflicts", "probe_conflicts",
        "context", "search_text", "search_nodes", "get_memory_status",
        "read_note", "search_notes", "current_date", "due_notes", "backlinks", "broken_links", "note_categories",
        "note_templates", "note_attachments", "orphaned_files",
    }
)  # fmt: skip
WRITES = frozenset(
    {
        "remember", "revise", "forget", "restore", "relate", "unrelate", "revert", "undo",
        "create_token", "revoke_token", "set_rules", "add_synonyms", "remove_synonyms", "approve", "decline",
        "retry_job", "cancel_job", "commit", "branch", "switch", "drop_branch", "merge_branch", "resolve_conflict",
        "scan_later", "create_entities", "update_entity",
        "write_note", "edit_note", "link_notes", "unlink_notes", "review_note",
    }
)  # fmt: skip
# These report progress instead of having the time limit of an ordinary call.
LONG = frozenset(
    {
        "purge", "doctor", "backup", "embed_missing", "export", "import_", "scan_conflicts", "extract", "sync_notes",
        "attach_file", "attach_path", "export_notes", "import_notes",
    }
)  # fmt: skip
VERBS = READS | WRITES | LONG
# These reach files or tokens outside a space: for the owner alone, whatever the rights of a token.
OWNER_ONLY = frozenset(
    {"backup", "create_token", "tokens", "revoke_token", "attach_path", "export_notes", "import_notes"}
)
# These concern the whole store: for callers that may use every space.
ALL_SPACES_ONLY = frozenset({"doctor", "embed_missing"})
