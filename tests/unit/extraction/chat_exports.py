"""Chats as programs export them, with all that they add to the messages."""

from datetime import UTC, datetime

from scrubjay.model.memory import Json

AT = datetime(2026, 5, 31, 14, 0, tzinfo=UTC)
CHATGPT: dict[str, Json] = {
    "title": "Tabs",
    "conversation_id": "c-1",
    "current_node": "c",
    "mapping": {
        "root": {"id": "root", "message": None, "parent": None, "children": ["hidden"]},
        "hidden": {
            "message": {
                "author": {"role": "user", "name": None, "metadata": {}}, "weight": 0.0,
                "content": {"content_type": "text", "parts": ["I prefer what nobody sees."]},
            },
            "parent": "root",
        },
        "set": {
            "message": {
                "author": {"role": "user"}, "weight": 1.0,
                "content": {"content_type": "user_editable_context", "user_profile": "I prefer nothing"},
            },
            "parent": "hidden",
        },
        "a": {
            "message": {
                "id": "m1", "author": {"role": "user", "name": None, "metadata": {}}, "create_time": AT.timestamp(),
                "content": {
                    "content_type": "multimodal_text",
                    "parts": [{"content_type": "image_asset_pointer", "width": 1}, "I prefer tabs."],
                },
                "status": "finished_successfully", "weight": 1.0, "metadata": {}, "recipient": "all",
            },
            "parent": "set",
        },
        "tool": {
            "message": {
                "author": {"role": "assistant"}, "recipient": "python", "weight": 1.0,
                "content": {"content_type": "code", "language": "unknown", "text": "print(1)"},
            },
            "parent": "a",
        },
        "b": {"message": {"author": {"role": "assistant"}, "content": {"parts": ["Another answer."]}}, "parent": "a"},
        "c": {"message": {"author": {"role": "assistant"}, "content": {"parts": ["Noted."]}}, "parent": "tool"},
    },
}  # fmt: skip
CLAUDE: dict[str, Json] = {
    "uuid": "c-2",
    "name": "Tabs",
    "chat_messages": [
        {"uuid": "m1", "sender": "human", "text": "I prefer tabs.", "created_at": "2026-05-31T14:00:00Z"},
        {
            "uuid": "m2", "sender": "assistant", "text": "", "attachments": [], "files": [],
            "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Noted.", "citations": []}],
        },
    ],
}  # fmt: skip
CODE: list[Json] = [
    {"type": "summary", "summary": "Tabs"},
    {
        "type": "user", "sessionId": "s-1", "uuid": "m1", "timestamp": "2026-05-31T14:00:00Z",
        "message": {"role": "user", "content": "I prefer tabs.\n<system-reminder>\nI prefer it.\n</system-reminder>"},
    },
    {
        "type": "user", "sessionId": "s-1", "isSidechain": True,
        "message": {"role": "user", "content": "I prefer what an agent asks another for."},
    },
    {
        "type": "user", "sessionId": "s-1", "isCompactSummary": True,
        "message": {"role": "user", "content": "This session goes on with another: I prefer spaces."},
    },
    {"type": "progress", "data": {"normalizedMessages": [{"message": {"role": "user", "content": "I."}}]}},
    {"type": "system", "subtype": "local_command", "content": "<local-command-stdout></local-command-stdout>"},
    {
        "type": "user", "sessionId": "s-1",
        "message": {"role": "user", "content": [{"type": "tool_result", "content": "I prefer nothing"}]},
    },
    {
        "type": "assistant", "sessionId": "s-1",
        "message": {"role": "assistant", "content": [{"type": "thinking"}, {"type": "text", "text": "Noted."}]},
    },
]  # fmt: skip
CODEX: list[Json] = [
    {"timestamp": "2026-05-31T14:00:00Z", "type": "session_meta", "payload": {"id": "s-2", "cwd": "/src"}},
    {
        "timestamp": "2026-05-31T14:00:00Z", "type": "response_item",
        "payload": {
            "type": "message", "role": "user",
            "content": [{"type": "input_text", "text": "<user_action>\nI.\n</user_action>I prefer tabs."}],
        },
    },
    {"type": "response_item", "payload": {"type": "reasoning", "summary": [], "content": None}},
    {
        "type": "response_item",
        "payload": {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Noted."}]},
    },
    {"type": "event_msg", "payload": {"type": "user_message", "message": "I prefer tabs."}},
]  # fmt: skip
LINKED: list[Json] = ["I read ", {"type": "link", "text": "x.org"}]
TELEGRAM: dict[str, Json] = {
    "name": "Ben",
    "id": 7,
    "messages": [
        {"id": 1, "type": "service", "actor": "Ann", "text": "pinned"},
        {"id": 2, "type": "message", "date": "2026-05-31T14:00:00", "from": "Ann", "text": LINKED},
        {
            "id": 3, "type": "message", "date": "2026-05-31T16:01:00", "date_unixtime": str(int(AT.timestamp())),
            "from": "Ben", "from_id": "user7", "text": "Me too.", "text_entities": [{"type": "plain", "text": "Me"}],
        },
        {"id": 4, "type": "message", "from": "Ben", "forwarded_from": "Zoe", "text": "I moved to Rome."},
    ],
}  # fmt: skip
SLACK: list[Json] = [
    {"type": "message", "subtype": "channel_join", "user": "U1", "text": "joined"},
    {"type": "message", "subtype": "bot_message", "bot_id": "B1", "text": "I prefer noise.", "ts": "1780236000.0000"},
    {
        "type": "message", "subtype": "thread_broadcast", "user": "U1", "team": "T1", "thread_ts": "1780236000.0000",
        "user_profile": {"real_name": "Ann", "display_name": "ann", "name": "ann"}, "ts": "1780236000.0001",
        "text": "I moved &amp; left, <@U2|ben> <https://example.org|there>", "blocks": [{"type": "rich_text"}],
    },
]  # fmt: skip
