"""In which forms a chat log may come, and how long it may be."""

LONGEST = 50_000_000
# By name, whether it is read line by line or as JSON; of `auto` the text itself tells. The names of programs are kept
# for those who say where a log comes from.
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
