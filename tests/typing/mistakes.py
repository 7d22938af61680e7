"""Mistakes that type checkers find in programs that use the clients.

Each line has the error that is expected there: pyright and mypy also report an expected error that does not occur.
"""

from datetime import date
from typing import assert_type

from scrubjay import MemoryClient, Remembered, SyncMemoryClient
from scrubjay.model.requests import RecallRequest, RememberRequest


async def misspell_an_argument(memory: MemoryClient) -> None:
    await memory.remember("tea", entites=["Sarah"])  # type: ignore[call-arg]
    await memory.recall("tea", max_token=100)  # type: ignore[call-arg]
    RememberRequest(text="tea", entites=("Sarah",))  # type: ignore[call-arg]
    MemoryClient(adress="http://127.0.0.1:7272")  # type: ignore[call-arg]


async def leave_out_a_required_argument(memory: MemoryClient) -> None:
    await memory.remember()  # type: ignore[call-arg]
    await memory.revise(text="green tea")  # type: ignore[call-arg]
    RememberRequest()  # type: ignore[call-arg]


async def give_a_wrong_type(memory: MemoryClient) -> None:
    await memory.remember(5)  # type: ignore[arg-type]
    await memory.recall("tea", limit="5")  # type: ignore[arg-type]
    await memory.recall("tea", as_of=date(2026, 5, 31))  # type: ignore[arg-type]
    await memory.remember_many("tea")  # type: ignore[arg-type]
    await memory.call("tea")  # type: ignore[arg-type]


async def give_a_wrong_choice(memory: MemoryClient) -> None:
    await memory.remember("tea", intent="merge")  # type: ignore[arg-type]
    await memory.recall("tea", detail="long")  # type: ignore[arg-type]
    await memory.read("tea", format="html")  # type: ignore[arg-type]


async def use_a_field_that_does_not_exist(memory: MemoryClient) -> None:
    recalled = await memory.recall("tea")
    recalled.results  # type: ignore[attr-defined]  # noqa: B018
    recalled.hits[0].text  # type: ignore[attr-defined]  # noqa: B018
    await memory.remembr("tea")  # type: ignore[attr-defined]


async def give_by_position_what_needs_a_name(memory: MemoryClient) -> None:
    await memory.remember("tea", "Title")  # type: ignore[call-arg]


async def mistake_one_result_for_another(memory: MemoryClient) -> None:
    assert_type(await memory.call(RecallRequest(query="tea")), Remembered)  # type: ignore[assert-type]


def do_the_same_without_an_event_loop(memory: SyncMemoryClient) -> None:
    memory.remember("tea", entites=["Sarah"])  # type: ignore[call-arg]
    memory.recall("tea", limit="5")  # type: ignore[arg-type]
    memory.remember("tea", intent="merge")  # type: ignore[arg-type]
