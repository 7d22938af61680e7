"""The registry of verbs: each verb is declared once, and every surface has what the declaration says."""

import inspect
import subprocess
import sys
from dataclasses import MISSING
from typing import get_type_hints

import pytest

from scripts.client import TARGET, render
from scrubjay.client.verbs import AsyncVerbs, SyncVerbs
from scrubjay.engine import Engine
from scrubjay.errors import InvalidInput
from scrubjay.model import requests
from scrubjay.model.arguments import Request, arguments_of, result_of
from scrubjay.model.verbs import VERBS, Verb
from scrubjay.notes.service import Notes
from scrubjay.surfaces.mcp.toolsets import TOOLSETS

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
    required = {name: argument.about.example or "x" for name, argument in named.items() if argument.is_required}
    for name, argument in named.items():
        if argument.about.example is None:
            continue
        values = required | {name: argument.about.example}
        if name in ("to", "changes", "drafts") or {"to", "changes", "drafts"} & set(required):
            continue
        verb.request.of(**values)


@pytest.mark.parametrize("verb", _WITH_METHOD)
def test_the_engine_or_the_notes_carry_it_out(verb: Verb) -> None:
    method = getattr(Notes if verb.notes else Engine, verb.name)
    hints = get_type_hints(method)
    parameters = list(inspect.signature(method).parameters)
    assert parameters == ["self", "request", "who", *(["progress"] if verb.progress else [])]
    assert verb.request in (hints["request"], *getattr(hints["request"], "__args__", ()))
    # The signature, since the type of JSON is recursive and resolves differently.
    assert hints["return"] == result_of(verb.request) or "Json" in str(hints["return"])


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


def test_tools_of_the_registry_exist() -> None:
    tools = {f"{toolset}.{tool.name}" for toolset, tools in TOOLSETS.items() for tool in tools}
    named = {tool for verb in VERBS.values() for tool in verb.tools}
    assert named <= tools
    assert {tool for tool in tools if tool.startswith("core.")} <= named


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
