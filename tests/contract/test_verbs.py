"""The registry of verbs: each verb is declared once, and every surface has what the declaration says."""

import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import MISSING, dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, cast, get_type_hints

import pytest
import typer
from typer.core import TyperCommand, TyperGroup

from scripts.client import TARGET, render, render_type
from scrubjay.client.verbs import AsyncVerbs, SyncVerbs
from scrubjay.code.runner import CodeVerbs
from scrubjay.curation.runner import CurationRunner
from scrubjay.engine import Engine
from scrubjay.errors import InvalidInput
from scrubjay.model import requests, verbs
from scrubjay.model.arguments import Arg, Argument, ArgumentGroup, Request, arguments_of, result_of
from scrubjay.model.caller import Access
from scrubjay.model.memory import Json
from scrubjay.model.query import Filter
from scrubjay.model.requests import SetRulesRequest
from scrubjay.model.requests.memories import Ref
from scrubjay.model.verbs import VERBS, Verb
from scrubjay.notes.service import Notes
from scrubjay.surfaces.cli.main import app
from scrubjay.surfaces.mcp.toolsets import TOOLSETS
from scrubjay.surfaces.mcp.toolsets.schema import verb_schema
from scrubjay.surfaces.rest.app import make_bare_app
from scrubjay.surfaces.rest.openapi import describe_app

# Verbs without a command, and why.
WITHOUT_COMMAND = {
    "remember_many": "`import` takes a file with one text a line",
    "search_text": "`recall` searches by words too, and `notes search` by words alone",
    "outcome": "clients ask it by themselves after a lost answer",
    "probe_conflicts": "`remember --dry-run` shows the conflicts of a text",
    "scan_later": "it is `conflicts scan --later`",
    "duplicates": "it has the form of a tool of agents; the command is `curate duplicates`",
    "curations": "it is `curate --last`",
    "create_entities": "it has the form of a tool of agents; `remember --entity` files a text under an entity",
    "update_entity": "it has the form of a tool of agents; the command is `revise`",
    "search_nodes": "it has the form of a tool of agents; the command is `recall`",
    "get_memory_status": "it has the form of a tool of agents; the command is `status`",
    "embed_missing": "it is a part of `doctor --repair` and `import`",
    "attach_file": "`notes attach` takes a file of this machine",
}
_STATE = "the verb chooses the state of the memories that it changes"
_LISTED = "a person decides about memories of the list, by their ids or all"
_USER = "a person types it: the source is the user"
# Arguments without an option of the same name, and why.
WITHOUT_OPTION: dict[str, dict[str, str]] = {
    "revise": {"source": _USER},
    "forget": {"state": _STATE},
    "restore": {"state": _STATE},
    "confirm": {"state": _STATE},
    "purge": {"state": _STATE, "reason": "nothing is left that could show it"},
    "approve": dict.fromkeys(("group", *(argument.name for argument in arguments_of(Filter))), _LISTED),
    "decline": dict.fromkeys(("group", *(argument.name for argument in arguments_of(Filter))), _LISTED),
    "set_rules": dict.fromkeys((argument.name for argument in arguments_of(SetRulesRequest)), "NAME=VALUE sets a rule"),
    "extract": {"text": "it is in the file", "store": "--dry-run does not store"},
    "run_code": {"code": "it is in the file"},
    "save_skill": {"source": "it is in the file"},
    "write_note": {"source": _USER},
    "export_notes": {"target": "it is --to", "refs": "they are the arguments of the command"},
}

_VERBS = [pytest.param(verb, id=name) for name, verb in VERBS.items()]
_WITH_METHOD = [pytest.param(verb, id=name) for name, verb in VERBS.items() if name not in ("export", "import")]


def test_every_request_is_the_request_of_a_verb() -> None:
    kinds = [getattr(requests, name) for name in requests.__all__]
    assert {kind for kind in kinds if issubclass(kind, Request)} == {verb.request for verb in VERBS.values()}


@pytest.mark.parametrize("verb", _VERBS)
def test_every_argument_is_described(verb: Verb) -> None:
    assert verb.request.__doc__
    for argument in arguments_of(verb.request):
        assert argument.about.help.endswith((".", "…")), argument.name


@pytest.mark.parametrize("verb", _VERBS)
def test_examples_are_valid(verb: Verb) -> None:
    named = {argument.name: argument for argument in arguments_of(verb.request)}
    examples = {name: argument.about.example for name, argument in named.items()}
    required = {name: examples[name] for name, argument in named.items() if argument.is_required}
    assert None not in required.values(), "a required argument has an example"
    for name, example in examples.items():
        verb.request.of(**required | ({} if example is None else {name: example}))


@pytest.mark.parametrize("verb", _WITH_METHOD)
def test_the_engine_or_the_notes_carry_it_out(verb: Verb) -> None:
    owner = Notes if verb.notes else CurationRunner if verb.curation else CodeVerbs if verb.code else Engine
    method = getattr(owner, verb.name)
    hints = get_type_hints(method)
    parameters = list(inspect.signature(method).parameters)
    assert parameters == ["self", "request", "who", *(["progress"] if verb.progress else [])]
    assert verb.request in (hints["request"], *getattr(hints["request"], "__args__", ()))
    # As source: the type of JSON is recursive, and resolves differently.
    assert render_type(hints["return"]) == render_type(result_of(verb.request))


@pytest.mark.parametrize("verb", _WITH_METHOD)
@pytest.mark.parametrize("client", [AsyncVerbs, SyncVerbs])
def test_clients_have_its_arguments(verb: Verb, client: type) -> None:
    parameters = inspect.signature(getattr(client, verb.name)).parameters
    arguments = arguments_of(verb.request)
    assert {*parameters} - {"self", "progress"} == {argument.name for argument in arguments}
    for argument in arguments:
        assert (parameters[argument.name].default is inspect.Parameter.empty) == argument.is_required
        is_named = parameters[argument.name].kind is inspect.Parameter.KEYWORD_ONLY
        assert is_named != argument.about.positional


def test_the_methods_of_the_clients_are_up_to_date() -> None:
    assert TARGET.read_text(encoding="utf-8") == render(), "run `make docs`"


def test_every_verb_has_a_command_or_a_reason() -> None:
    assert {name for name, verb in VERBS.items() if not verb.command} == set(WITHOUT_COMMAND)


@pytest.mark.parametrize("verb", [pytest.param(verb, id=verb.command) for verb in VERBS.values() if verb.command])
def test_commands_have_its_arguments(verb: Verb) -> None:
    names = {parameter.name for parameter in _command_of(verb).params} - {"data", "space", "agent"}
    missing = {argument.name for argument in _single_arguments(verb.request) if not _names_of(argument) & names}
    assert missing == set(WITHOUT_OPTION.get(verb.name, {}))


def test_a_new_argument_is_an_option_and_a_new_verb_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True, kw_only=True)
    class PraiseRequest(Request[str]):
        """Praise a memory."""

        id: Ref
        words: Annotated[tuple[str, ...], Arg("A word; repeatable.", flags="--word -w")] = ()
        until: Annotated[datetime | None, Arg("Stop then.")] = None

    verb = Verb(PraiseRequest, effect="reads", needs=Access.READ, command="praise")
    monkeypatch.setattr(verbs, "VERBS", {**VERBS, "praise": verb})
    options = {parameter.name: parameter.opts for parameter in _command_of(verb).params}
    assert (options["id"], options["word"], options["until"]) == (["id"], ["--word", "-w"], ["--until"])


# Tools that carry out no verb, and why.
_WITHOUT_VERB = {"kg.read_graph": "it has the form of the reference server: all entities and relations, in pages"}
# The verbs of tools that hints do not name there: another tool of the toolset is meant, or none is of use.
_UNHINTED = {
    "kg.delete_observations": {"revise"},
    "enhanced.detect_conflicts": {"probe_conflicts"},
    "enhanced.memory_diff": {"history"},
    "entities.store_multi_entity_memory": {"remember"},
    "smart.smart_write": {"remember"},
    "smart.intelligence_detect_duplicates": {"duplicates"},
    "notes.get_current_date": {"current_date"},
    "session.session_context": {"context"},
}


def test_tools_of_the_registry_exist() -> None:
    tools = {f"{toolset}.{tool.name}" for toolset, tools in TOOLSETS.items() for tool in tools}
    named = {tool for verb in VERBS.values() for tool in verb.tools}
    assert named <= tools
    assert tools - named == set(_WITHOUT_VERB)


@pytest.mark.parametrize("toolset", TOOLSETS)
def test_hints_name_the_tools_of_the_registry(toolset: str) -> None:
    for tool in TOOLSETS[toolset]:
        carried_out = {verb.name for verb in VERBS.values() if f"{toolset}.{tool.name}" in verb.tools}
        assert carried_out - {*tool.verbs} == _UNHINTED.get(f"{toolset}.{tool.name}", set())


# The arguments that the tools of `core` do not take: their listing has few tokens, and a model reads all of it.
_FEW = "for people and programs; the listing has few tokens"
_UNLISTED: dict[str, dict[str, str]] = {
    "remember": {"wait_for_llm": "agents do not wait"},
    "remember_many": {"atomic": "agents correct the items that fail"},
    "revise": {
        "tier": _FEW,
        "relevance": _FEW,
        "source": "it is always the agent",
        "idempotency_key": "an expected version makes a repeated call safe",
    },
    "revert": {"idempotency_key": "a repeated call restores the same version"},
    "restore": {"branch": "the tools of `core` drop no branches"},
    "history": {"before": "the cursor of the tool has it"},
}


@pytest.mark.parametrize("verb", [verb for verb in VERBS.values() if verb.tools], ids=lambda verb: verb.name)
def test_tools_of_core_have_its_arguments(verb: Verb) -> None:
    tools = {f"core.{tool.name}": tool for tool in TOOLSETS["core"]}
    for tool in (tools[name] for name in verb.tools if name in tools):
        properties = cast("dict[str, dict[str, Json]]", tool.input["properties"])
        accepted = {*properties, *(f"filters.{name}" for name in _words(properties.get("filters", {})))}
        unlisted = {
            argument.name
            for argument in arguments_of(verb.request)
            if not {argument.name, tool.names.get(argument.name)} & accepted
        }
        assert unlisted == {*_UNLISTED.get(verb.name, {})}
        required = {argument.name for argument in arguments_of(verb.request) if argument.is_required}
        assert {*cast("list[str]", tool.input.get("required", []))} <= required


def test_tools_of_core_name_the_verbs_that_name_them() -> None:
    for tool in TOOLSETS["core"]:
        assert {*tool.verbs} == {verb.name for verb in VERBS.values() if f"core.{tool.name}" in verb.tools}


def test_a_new_argument_is_in_the_schema_by_itself() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Extended(requests.ReviseRequest):
        mood: Annotated[Literal["", "good", "bad"], Arg("Mood.", brief="of the day")] = ""
        days: Annotated[tuple[int, ...] | None, Arg("Days.")] = None
        place: Annotated[str, Arg("Place.")]

    schema = verb_schema(Extended, but=("text",))
    properties = cast("dict[str, Json]", schema["properties"])
    assert properties["mood"] == {"enum": ["good", "bad"], "description": "of the day"}
    assert properties["days"] == {"type": "array", "items": {"type": "integer"}}
    assert (schema["required"], "text" in properties) == (["id", "place"], False)


def _words(schema: dict[str, Json]) -> list[str]:
    return re.findall(r"\w+", str(schema.get("description", "")))


def test_routes_of_the_registry_are_those_of_the_app() -> None:
    served = {
        f"{method.upper()} {path.removeprefix('/api/v1')}": operation["operationId"]
        for path, operations in cast("dict[str, Any]", describe_app(make_bare_app())["paths"]).items()
        for method, operation in operations.items()
    }
    routes = {verb.route: verb.name for verb in VERBS.values() if verb.route}
    assert set(routes) <= set(served)
    names = {f"{name}_many" for name in routes.values()} | {*routes.values(), "search_by_body", "versions"}
    assert [served[route] for route in routes if served[route] not in names] == []
    # Other ways to call these verbs, and what is not a verb: streams, files, and the state of the server.
    assert set(served.values()) - {served[route] for route in routes} == {
        "smart_write", "list_memories", "read", "forget", "restore", "confirm", "purge", "search", "diff", "links",
        "conflict", "changes", "export_note", "download_attachment", "alive", "ready", "metrics",
    }  # fmt: skip


def test_a_verb_that_reads_may_be_repeated() -> None:
    assert all(verb.idempotent and not verb.logged for verb in VERBS.values() if verb.reads)
    assert not [verb.name for verb in VERBS.values() if verb.logged and verb.idempotent]


def test_the_registry_is_read_without_the_engine() -> None:
    code = (
        "import sys; sys.path.insert(0, 'src'); import scrubjay.model.verbs\n"
        "print(*{name.split('.')[1] for name in sys.modules if name.startswith('scrubjay.')})"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {"engine", "notes", "storage", "app", "surfaces"} & set(loaded.split())


@pytest.mark.parametrize("verb", _VERBS)
def test_unknown_and_missing_arguments_are_named(verb: Verb) -> None:
    with pytest.raises(InvalidInput, match="has no argument 'bogus'") as unknown:
        verb.request.of(bogus=1)
    assert unknown.value.fields["field"] == "bogus"
    required = [argument.name for argument in arguments_of(verb.request) if argument.default is MISSING]
    if required:
        with pytest.raises(InvalidInput, match=f"needs the argument {required[0]}"):
            verb.request.of()


def _command_of(verb: Verb) -> TyperCommand:
    node: object = typer.main.get_command(app)
    for name in verb.command.split():
        assert isinstance(node, TyperGroup)
        node = node.commands[name]
    assert isinstance(node, TyperCommand)
    return node


def _single_arguments(kind: type[ArgumentGroup]) -> Iterator[Argument]:
    """Yield its arguments, and those of a filter in the place of the filter."""
    for argument in arguments_of(kind):
        if argument.name == "filter":
            yield from arguments_of(Filter)
        else:
            yield argument


def _names_of(argument: Argument) -> set[str]:
    flag = argument.about.flags.split(" ")[0].removeprefix("--").replace("-", "_")
    return {argument.name, flag, argument.about.metavar.lower(), argument.name.removesuffix("_id")}
