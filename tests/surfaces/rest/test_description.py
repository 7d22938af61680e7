"""The OpenAPI description is complete, and matches the routes."""

import asyncio
import json
import re
from collections.abc import Iterator
from enum import StrEnum
from html import escape
from typing import Any

import pytest
from fastapi.routing import iter_route_contexts
from jsonschema import Draft202012Validator
from tests.contract.source import ROOT
from tests.surfaces.rest.checked_client import API, CheckedClient
from tests.surfaces.rest.openapi_document import PROBLEM, choices_of, document, lines_to_import, resolved, validator

from scrubjay.graph.jsonl import FORMATS
from scrubjay.model.arguments import ArgumentGroup
from scrubjay.model.memory import Flag, State, Tier, Trust
from scrubjay.model.requests import RecallRequest, ReviseRequest
from scrubjay.surfaces.rest import space
from scrubjay.surfaces.rest.app import make_bare_app
from scrubjay.surfaces.rest.openapi import OpenApiDescription
from scrubjay.surfaces.rest.route import Route
from scrubjay.surfaces.rest.schemas import component_schemas

OPEN = ("/healthz", "/readyz")
VERBS = {
    "remember", "remember_many", "list_memories", "read_many", "forget_many", "restore_many", "purge_many", "read",
    "revise", "forget", "restore",
    "purge", "search", "search_by_body", "versions", "diff", "revert", "undo", "links", "relate", "unrelate", "changes",
    "status", "export", "import", "alive", "health", "ready", "metrics", "smart_write", "rules", "set_rules", "inbox",
    "approve", "decline", "tags", "add_synonyms", "remove_synonyms", "preview_tags", "jobs", "retry_job", "cancel_job",
    "conflicts", "conflict", "scan_conflicts", "scan_later", "resolve_conflict", "curate", "curations", "prune",
    "run_code", "save_skill", "list_skills", "load_skill", "run_skill", "usage", "confirm",
    "confirm_many", "due", "summarize",
    "commit", "branches", "branch", "switch", "merge_branch", "drop_branch", "context", "extract", "related",
    "graph", "path", "write_note", "read_note", "edit_note", "search_notes", "due_notes", "broken_links",
    "note_categories", "note_templates", "current_date", "sync_notes", "review_note", "backlinks", "link_notes",
    "unlink_notes", "attach_file", "note_attachments", "orphaned_files", "download_attachment", "export_note",
}  # fmt: skip


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, ways in document()["paths"].items():
        for method, operation in ways.items():
            yield method, path, operation


OPERATIONS = [pytest.param(*operation, id=operation[2]["operationId"]) for operation in operations()]


def test_it_is_openapi_3_1() -> None:
    result = document()
    assert re.fullmatch(r"3\.1\.\d+", result["openapi"])
    assert set(result) == {"openapi", "info", "paths", "components", "tags"}
    assert result["info"]["license"]["identifier"] == "Apache-2.0"
    assert {tag["name"] for tag in result["tags"]} == {tag for _, _, item in operations() for tag in item["tags"]}


def test_every_reference_resolves() -> None:
    seen = {f"#/{results}" for results in re.findall(r'"\$ref": "#/([^"]+)"', json.dumps(document()))}
    for pointer in seen:
        # The schema of an arbitrary value is empty.
        assert resolved({"$ref": pointer}) is not None
    stored = {
        f"#/components/{kind}/{name}" for kind in ("schemas", "responses") for name in document()["components"][kind]
    }
    assert stored == seen


@pytest.mark.parametrize("name", sorted(document()["components"]["schemas"]))
def test_every_schema_is_valid(name: str) -> None:
    Draft202012Validator.check_schema(document()["components"]["schemas"][name])


def test_operations_have_short_unique_names() -> None:
    names = [operation["operationId"] for _, _, operation in operations()]
    assert len(names) == len(set(names))
    assert set(names) == VERBS


@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS)
def test_an_operation_is_described_completely(method: str, path: str, operation: dict[str, Any]) -> None:
    assert operation["summary"]
    assert operation["description"].endswith((".", "`."))
    assert len(operation["tags"]) == 1
    assert set(re.findall(r"{(\w+)}", path)) == {
        item["name"] for item in operation.get("parameters", []) if item["in"] == "path"
    }
    answers = {status: resolved(answer) for status, answer in operation["responses"].items()}
    good = [answer for status, answer in answers.items() if status in ("200", "201")]
    assert good
    for answer in good:
        for kind, content in answer["content"].items():
            assert "example" in content, kind
            assert content.get("schema") or kind == "text/event-stream", kind
    for status, answer in answers.items():
        assert answer["description"]
        if int(status) >= 400:
            assert set(answer["content"]) == {PROBLEM}
            assert answer["content"][PROBLEM]["example"]["status"] == int(status)
    assert {"403", "500"} <= set(answers)
    if path not in OPEN:
        assert {"401", "429"} <= set(answers)
    if "requestBody" in operation:
        assert {"400", "408", "413", "415", "422"} <= set(answers)
    if any(item["name"] == "If-Match" for item in operation.get("parameters", [])):
        assert "412" in answers
    assert operation["security"] == ([] if path in OPEN else [{}, {"bearer": []}])


@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS)
def test_every_example_matches_its_schema(method: str, path: str, operation: dict[str, Any]) -> None:
    for answer in map(resolved, operation["responses"].values()):
        for content in answer.get("content", {}).values():
            schema = content.get("schema", {})
            if "$ref" in schema:
                validator(schema["$ref"]).validate(content["example"])
            else:
                Draft202012Validator(schema).validate(content["example"])
    for parameter in operation.get("parameters", []):
        for example in parameter["schema"].get("examples", []):
            Draft202012Validator(parameter["schema"]).validate(example)
    for content in operation.get("requestBody", {}).get("content", {}).values():
        if "$ref" in content["schema"]:
            validator(content["schema"]["$ref"]).validate(example_of(content["schema"]))


@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS)
def test_an_example_is_about_the_id_in_the_path(method: str, path: str, operation: dict[str, Any]) -> None:
    (ids,) = [item["schema"]["examples"] for item in operation.get("parameters", []) if item["name"] == "id"] or [[]]
    for status in {"200", "201"} & set(operation["responses"]):
        example = operation["responses"][status]["content"].get("application/json", {}).get("example", {})
        if path.endswith("{id}") and "id" in example:
            assert [example["id"]] == ids


def test_every_example_of_a_field_matches_its_schema() -> None:
    for name, schema in document()["components"]["schemas"].items():
        for field, result in schema.get("properties", {}).items():
            for example in result.get("examples", []):
                validator(f"#/components/schemas/{name}/properties/{field}").validate(example)


async def test_the_examples_of_bodies_are_accepted(client: CheckedClient) -> None:
    """Users try the examples of the description first."""
    for name, title in (("how-to-reach-sarah", "How to reach Sarah"), ("sarah", "Sarah")):
        await client.remember(f"about {name}", name=name, title=title)
    await client.request("PATCH", "/memories/how-to-reach-sarah", json={"tags": ["x"]})
    for method, path, operation in operations():
        content = operation.get("requestBody", {}).get("content", {})
        # These routes need memories in the trash or the inbox, or a conflict.
        if "application/json" not in content or path.endswith(("/purge", "/decline", "/resolve")):
            continue
        place = path.removeprefix(API).replace("/skills/{name}", "/skills/count_kind")
        place = place.replace("{id}", "how-to-reach-sarah").replace("{name}", "draft")
        body = example_of(content["application/json"]["schema"])
        response = await client.web.request(method.upper(), API + place, json=body, params={"space": client.space})
        assert response.status_code in (200, 201), (path, body, response.text)
    result = await client.post("/import", params={"space": f"{client.space}-copy"}, content=lines_to_import())
    assert result["imported"] >= 1


def example_of(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a body made of the examples of its fields."""
    fields = resolved(schema)["properties"]
    return {name: field["examples"][0] for name, field in fields.items() if field.get("examples")}


def test_the_description_covers_all_served_routes() -> None:
    app = make_bare_app()
    served = {
        (method.lower(), str(context.path_format))
        for context in iter_route_contexts(app.routes)
        if isinstance(context.original_route, Route)
        for method in context.methods or ()
    }
    describe_app = {(method, path) for method, path, _ in operations()}
    # These are also served under the prefix, like the description.
    twice = {
        ("get", f"{prefix}{path}") for prefix in ("", API) for path in (*OPEN, "/metrics", "/openapi.json", "/docs")
    }
    assert served == describe_app | twice


def test_the_reference_lists_every_operation() -> None:
    page = (ROOT / "docs" / "reference" / "rest.md").read_text(encoding="utf-8")
    for method, path, operation in operations():
        assert f"### {operation['operationId']}\n" in page
        assert f"`{method.upper()} {path}`" in page


@pytest.mark.parametrize(
    ("request_type", "name", "kind"),
    [
        (ReviseRequest, "tier", Tier),
        (RecallRequest, "tier", Tier),
        (RecallRequest, "trust", Trust),
        (RecallRequest, "state", State),
        (RecallRequest, "flag", Flag),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_choices_are_those_of_the_model(request_type: type[ArgumentGroup], name: str, kind: type[StrEnum]) -> None:
    assert tuple(filter(None, choices_of(request_type, name))) == tuple(kind)


def test_every_property_is_described() -> None:
    schemas = document()["components"]["schemas"]
    undescribed = [
        f"{name}.{field}"
        for name, schema in schemas.items()
        for field, member in schema.get("properties", {}).items()
        if not member.get("description")
    ]
    undescribed += [
        f"{operation['operationId']}.{parameter['name']}"
        for _, _, operation in operations()
        for parameter in operation.get("parameters", [])
        if not parameter.get("description")
    ]
    assert undescribed == []


def test_formats_are_those_of_the_engine() -> None:
    (parameter,) = [
        item for item in document()["paths"][f"{API}/export"]["get"]["parameters"] if item["name"] == "format"
    ]
    assert tuple(parameter["schema"]["enum"]) == FORMATS
    assert space.routes.routes


async def test_the_served_description_is_the_generated_one(client: CheckedClient) -> None:
    assert (await client.web.get("/openapi.json")).json() == document()


async def test_the_page_shows_every_operation_and_needs_no_other_site(client: CheckedClient) -> None:
    page = await client.web.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    for method, path, operation in operations():
        shown = f"<span class=method>{method.upper()}</span> <code>{path}</code> {escape(operation['summary'])}<"
        assert shown in page.text, (method, path)
    assert not re.findall(r"<(?:script|link|img|iframe)|(?:src|href)=[\"']?(?:https?:)?//", page.text)


async def test_the_event_loop_runs_while_the_description_is_built() -> None:
    """Only the request waits for the description, not the event loop."""
    description = OpenApiDescription(make_bare_app())
    making = asyncio.gather(*(description.text() for _ in range(3)))
    turns = 0
    while not making.done():
        await asyncio.sleep(0)
        turns += 1
    texts = await making
    assert turns > 10
    assert texts[0] is texts[1] is texts[2]
    assert await description.text() is texts[0]


def test_schemas_have_the_names_of_the_results() -> None:
    assert {"Memory", "Problem", "Remembered", "Recalled", "Written", "Status"} <= set(component_schemas())
