"""The page at `/docs`: the operations of the OpenAPI description as HTML, without scripts and without other sites."""

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import cast

from scrubjay.model.memory import Json

HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
}
_Object = Mapping[str, Json]
_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24}
code,pre{font:13px/1.45 ui-monospace,monospace;background:#f3f4f6;border-radius:4px}
code{padding:.1em .3em}pre{padding:.7em;overflow:auto}summary{cursor:pointer;padding:.3em 0}
table{border-collapse:collapse;width:100%}
td,th{text-align:left;vertical-align:top;border-top:1px solid #ddd;padding:.3em}
.method{display:inline-block;min-width:4.5em;font-weight:600}
@media(prefers-color-scheme:dark){body{background:#14171a;color:#e3e6ea}code,pre{background:#22272c}
td,th{border-color:#333}}
"""


def render_docs(description: _Object) -> str:
    """Return the page."""
    about = cast("dict[str, str]", description["info"])
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>",
        f"<title>{escape(about['title'])} REST API</title><style>{_STYLE}</style>",
        f"<h1>{escape(about['title'])} REST API {escape(about['version'])}</h1>",
        f"<p>{escape(about.get('summary', ''))}. For programs: <a href=openapi.json>openapi.json</a>.",
    ]
    operations = list(_operations(description))
    for tag in cast("list[dict[str, str]]", description["tags"]):
        parts.append(f"<h2>{escape(tag['name'])}</h2><p>{escape(tag.get('description', ''))}")
        parts += [html for name, html in operations if name == tag["name"]]
    return "\n".join(parts)


def _operations(description: _Object) -> Iterator[tuple[str, str]]:
    schemas = cast("_Object", cast("_Object", description["components"])["schemas"])
    for path, methods in cast("Mapping[str, _Object]", description["paths"]).items():
        for method, value in methods.items():
            operation = cast("_Object", value)
            (tag,) = cast("list[str]", operation["tags"])
            yield tag, _operation(method.upper(), path, operation, schemas)


def _operation(method: str, path: str, operation: _Object, schemas: _Object) -> str:
    rows = [
        _row(str(item["name"]), f"{item['in']}{', required' if item.get('required') else ''}", item.get("description"))
        for item in cast("list[_Object]", operation.get("parameters", []))
    ]
    body = _json_schema(cast("_Object", operation.get("requestBody", {})))
    fields = _resolved(body, schemas)
    required = cast("list[str]", fields.get("required", []))
    for name, field in cast("Mapping[str, _Object]", fields.get("properties", {})).items():
        rows.append(_row(name, f"body{', required' if name in required else ''}", field.get("description")))
    examples = {
        name: cast("list[Json]", field["examples"])[0]
        for name, field in cast("Mapping[str, _Object]", fields.get("properties", {})).items()
        if field.get("examples") and (name in required or not required)
    }
    data = f" -H 'content-type: application/json' -d '{json.dumps(examples, ensure_ascii=False)}'" if body else ""
    shown = f"curl -X {method} http://127.0.0.1:7272{path}{data}"
    return (
        f"<details><summary><span class=method>{method}</span> <code>{escape(path)}</code> "
        f"{escape(str(operation.get('summary', '')))}</summary><p>{escape(str(operation.get('description', '')))}"
        f"<table>{''.join(rows)}</table><pre>{escape(shown)}</pre></details>"
    )


def _row(name: str, place: str, about: Json) -> str:
    return f"<tr><td><code>{escape(name)}</code><td>{escape(place)}<td>{escape(str(about or ''))}"


def _json_schema(body: _Object) -> _Object:
    content = cast("_Object", body.get("content", {}))
    return cast("_Object", cast("_Object", content.get("application/json", {})).get("schema", {}))


def _resolved(schema: _Object, schemas: _Object) -> _Object:
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    return cast("_Object", schemas[name]) if name else schema
