"""The source of a skill: what is read of it without running it, and how it is kept in the text of a memory."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.code.skills.source import function_in, name_from, read_source, require_name, source_of_steps
from scrubjay.errors import InvalidInput, TooLarge
from scrubjay.model.memory import Json
from scrubjay.model.skill import Skill, compose_content, split_content

SOURCE = '''\
LIMIT = 1000

def analyze(query: str, threshold: float = 0.8, *, kinds: list[str] = []):
    """Count what is good enough.

    By kind.
    """
    return {"pattern": r"\\d+", "fence": "```"}
'''


def test_the_function_of_a_source_tells_its_parameters_and_its_purpose() -> None:
    source = read_source(f"    {SOURCE.replace(chr(10), chr(10) + '    ')}", name="analyze")
    assert source.text == SOURCE.rstrip()
    assert [*map(str, source.parameters)] == ["query: str", "threshold: float = 0.8", "kinds: list[str] = []"]
    assert source.documentation == "Count what is good enough.\n\nBy kind."
    assert (
        function_in(f"x = 1\n{SOURCE}\nresult = analyze('x')", name="analyze") == SOURCE.partition("\n\n")[2].rstrip()
    )
    steps = read_source(source_of_steps("restart", "1. Drain 'it'\n\n2. \"Restart\" it\n"), name="restart")
    scope: dict[str, object] = {}
    exec(steps.text, scope)
    assert scope["restart"]() == ["1. Drain 'it'", '2. "Restart" it']  # type: ignore[operator]


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("", "empty"),
        ("def other(): pass", "must define the function f; it has other"),
        ("f = lambda: 1", "it has no function"),
        ("def f(:\n    pass", "line 1"),
        ("def f():\n    x = [\n", "line 2"),
        ("def f():\n\x00", "NUL|null"),
        ("def f(*args): pass", "line 1: the parameters of a skill are given by name"),
        ("def f(**options): pass", "given by name"),
        ("def f():\n    return " + "-" * 60_000 + "1", "nested too deeply"),
        (
            "\ndef f(x=" + "-" * 1_500 + "1): pass",
            "line 2: a parameter has a type or default that is nested too deeply",
        ),
        ("def f():\n    return " + "(" * 300 + ")" * 300, "parentheses"),
        (f"def f(): pass\n# {'x' * 10_000_000}", "10,000,0.* bytes; the limit is 64,000"),
    ],
)
def test_a_source_that_cannot_be_a_skill_is_refused_with_its_line(source: str, problem: str) -> None:
    with pytest.raises((InvalidInput, TooLarge), match=problem):
        read_source(source, name="f")


@given(st.text(max_size=80))
def test_a_name_is_that_of_a_function_or_a_proposal_is_made(name: str) -> None:
    proposal = name_from(name)
    assert not proposal or require_name(proposal) == proposal
    if proposal != name or not name:
        with suppress(InvalidInput):
            assert require_name(name).isidentifier()


@pytest.mark.parametrize(
    "name", ["a/b", "../up", "a\nb", "a\x00", "class", "", "_private", "n" * 65, "großes", "recall"]
)
def test_names_that_no_function_can_have_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput):
        require_name(name, taken=("recall",))


@given(st.text(alphabet=st.sampled_from("`ab\n #~python"), max_size=60), st.text(max_size=200))
def test_a_source_comes_back_from_the_text_of_its_memory(description: str, source: str) -> None:
    if not source.strip():
        return
    assert split_content(compose_content(description, source))[1] == source


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "needs query"),
        ({"query": 3}, "query must be a text, not int"),
        ({"query": "x", "threshold": "high"}, "threshold must be a number"),
        ({"query": "x", "threshold": True}, "threshold must be a number, not bool"),
        ({"query": "x", "kinds": "note"}, "kinds must be a list"),
        ({"query": "x", "bogus": 1}, "has no parameter 'bogus'"),
    ],
)
def test_wrong_arguments_are_named_before_anything_runs(arguments: dict[str, Json], problem: str) -> None:
    parameters = read_source(SOURCE, name="analyze").parameters
    skill = Skill(id="1", name="analyze", version=1, description="", parameters=parameters)
    skill.require_arguments({"query": "x", "threshold": 1, "kinds": ["note"]})
    with pytest.raises(InvalidInput, match=problem):
        skill.require_arguments(arguments)
