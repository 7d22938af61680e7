"""The verbs of programs that run beside the memory."""

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated

from scrubjay.lazy import dataclass
from scrubjay.model.arguments import Arg, Request
from scrubjay.model.code import CodeResult
from scrubjay.model.memory import Json
from scrubjay.model.query import LABEL

__all__ = ["RunCodeRequest"]

MAX_SOURCE = 1_000_000
"""The largest program, in characters, whatever the settings say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCodeRequest(Request[CodeResult]):
    """Run a Python program beside the memory, and return what it computed; or the next part of a stored result."""

    code: Annotated[
        str,
        Arg(
            "The program. It calls the verbs as functions, such as `recall`, and returns the variable `result` or the "
            "value of its last line.",
            example="result = len(search_nodes('', limit=1000))",
            length=MAX_SOURCE,
            positional=True,
        ),
    ] = ""
    context_vars: Annotated[
        Mapping[str, Json],
        Arg("Variables of the program, by name.", example={"threshold": 0.8}, flags="--vars", metavar="JSON"),
    ] = field(default_factory=dict[str, Json])
    max_tokens: Annotated[
        int, Arg("Token budget of the result; what does not fit is stored.", maximum=100_000)
    ] = 2000  # fmt: skip
    handle: Annotated[str, Arg("A stored result to read on, instead of code.", length=LABEL)] = ""
    offset: Annotated[int, Arg("Where to read on in it.", minimum=0)] = 0
