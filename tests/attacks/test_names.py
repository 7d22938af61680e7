"""Names of spaces and tokens mean what they look like."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx2
import pytest

from scrubjay.errors import InvalidInput, NameTaken
from scrubjay.model.caller import Caller
from scrubjay.model.requests import CreateTokenRequest, RememberRequest
from tests.patience import PATIENCE
from tests.surfaces.rest.http_stack import HttpStack

_INVISIBLE = [
    "wo\u200brk",
    "work\u200d",
    "\u202ework",
    "wo\u2066rk",
    "wo\ufeffrk",
    "wo\u00adrk",
    "wo\u0007rk",
    "wo\u2028rk",
]
# The o is Cyrillic, Greek; the k is Cyrillic.
_MIXED = ["w\u043erk", "w\u03bfrk", "wor\u043a"]
# Cyrillic letters alone, which look like "cope" and "HOME".
_COPIES = [("\u0441\u043e\u0440\u0435", "cope"), ("\u041d\u041e\u041c\u0415", "HOME"), ("\u0391\u0392", "AB")]


@asynccontextmanager
async def everywhere(stack: HttpStack) -> AsyncGenerator[httpx2.AsyncClient]:
    """A program with a token for every space."""
    token = await stack.token("everywhere", "*")
    headers = {"authorization": f"Bearer {token.secret}"}
    async with httpx2.AsyncClient(base_url=stack.address, headers=headers, timeout=PATIENCE, trust_env=False) as web:
        yield web


@pytest.mark.parametrize("name", [*_INVISIBLE, *_MIXED])
async def test_a_name_that_hides_something_is_refused(stack: HttpStack, name: str) -> None:
    """No space and no token has a name with invisible characters, turned writing, or a word of mixed alphabets."""
    with pytest.raises(InvalidInput):
        Caller(space=name)
    with pytest.raises(InvalidInput):
        Caller(also=(name,))
    for request in (CreateTokenRequest(name=name, spaces=("work",)), CreateTokenRequest(name="a", spaces=(name,))):
        with pytest.raises(InvalidInput):
            await stack.engine.create_token(request, who=Caller())
    async with everywhere(stack) as web:
        for method, path in (("GET", "/api/v1/status"), ("POST", "/api/v1/memories")):
            response = await web.request(method, path, params={"space": name}, json={"text": "x"})
            assert (response.status_code, response.json()["code"]) == (422, "invalid_input")


@pytest.mark.parametrize("spelling", ["\uff57\uff4f\uff52\uff4b", " work ", "\u24e6ork", "wor\uff4b"])
async def test_other_spellings_are_the_same_name(stack: HttpStack, spelling: str) -> None:
    """A name in full-width or circled letters, or with blanks around it, is the plain name, for spaces and tokens."""
    async with everywhere(stack) as web:
        await web.post("/api/v1/memories", params={"space": spelling}, json={"text": "Kept.", "name": "kept"})
        assert (await web.get("/api/v1/memories/kept", params={"space": "work"})).status_code == 200
    await stack.token("work", "work")
    with pytest.raises(NameTaken):
        await stack.token(spelling, "work")


@pytest.mark.parametrize(("copy", "original"), _COPIES)
async def test_a_name_that_looks_like_another_is_refused(stack: HttpStack, copy: str, original: str) -> None:
    """A new space or token whose name looks like an existing one, letter for letter, is refused; the old one works."""
    async with everywhere(stack) as web:
        for name, status in ((original, 201), (copy, 409), (original, 201)):
            response = await web.post("/api/v1/memories", params={"space": name}, json={"text": "x", "intent": "new"})
            assert response.status_code == status, (name, response.text)
        await web.post("/call/remember", json={"who": {"space": copy}, "args": {"text": "x"}})
    with pytest.raises(NameTaken):
        await stack.token("for a copy", copy)
    await stack.token(original, original)
    with pytest.raises(NameTaken):
        await stack.token(copy, "work")
    assert copy not in await stack.store.spaces()


async def test_a_tenant_learns_nothing_from_a_name(stack: HttpStack) -> None:
    """A token for named spaces never learns that its space looks like another's."""
    copy, original = _COPIES[0]
    token = await stack.token("stranger", copy)
    await stack.engine.remember(RememberRequest(text="Mine."), who=Caller(space=original))
    headers = {"authorization": f"Bearer {token.secret}"}
    async with httpx2.AsyncClient(base_url=stack.address, headers=headers, timeout=PATIENCE, trust_env=False) as web:
        response = await web.post("/api/v1/memories", json={"text": "Also mine."})
        assert response.status_code == 201
        assert original not in response.text


@pytest.mark.parametrize(
    "name", ["work", "Büro", "дом", "οικία", "家", "日本 2", "work, really", "café/\u03b1 \u03b2", "🏠 home"]
)
async def test_ordinary_names_of_all_languages_are_fine(stack: HttpStack, name: str) -> None:
    """Names of one alphabet a word, in every language, are accepted as they are."""
    token = await stack.token(name, name)
    assert (token.token.name, token.token.spaces) == (name, (name,))
    await stack.engine.remember(RememberRequest(text="x"), who=Caller(space=name))
    assert name in await stack.store.spaces()
