"""The formats of chat logs, and their maximum length. Apart from the readers, so that the CLI can list them cheaply."""

MAX_LENGTH = 50_000_000
# Each format with its reader: lines or JSON; for `auto` the text decides. The names of programs let users say where a
# log comes from.
FORMATS = {
    "auto": "",
    "text": "lines",
    "markdown": "lines",
    "whatsapp": "lines",
    "json": "json",
    "jsonl": "jsonl",
    "chatgpt": "json",
    "claude": "json",
    "slack": "json",
    "telegram": "json",
}
