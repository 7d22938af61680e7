"""Addresses: malformed URLs are refused, and no password is ever shown."""

from functools import partial

import pytest

from scrubjay.errors import InvalidInput
from scrubjay.storage.postgres.connection import Address


def test_an_address_is_shown_without_its_password() -> None:
    address = Address(url="postgresql://ann:s3cret@db.example:6543/memory?sslmode=require")
    assert address.shown == "postgresql://ann@db.example:6543/memory"
    assert "s3cret" not in repr(address)
    assert "s3cret" not in str(address)


def test_parts_may_be_left_out() -> None:
    assert Address(url="postgresql:///memory").shown == "postgresql://localhost/memory"
    assert Address(url="postgresql://db.example").shown == "postgresql://db.example/"


@pytest.mark.parametrize(
    "url",
    ["", "memory.db", "mysql://h/d", "sqlite:///x", "host=db dbname=memory", "postgresql+asyncpg://h/d", "POSTGRESQL"],
)
def test_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="postgresql://"):
        Address(url=url)


@pytest.mark.parametrize("url", ["postgresql://h:port/d", "postgresql://h/d?sslmode", "postgresql://a:s3cret@[::1/d"])
def test_a_malformed_url_is_refused_without_repeating_it(url: str) -> None:
    plain = "postgresql:///d"
    ways = (
        partial(Address, url=url),
        partial(Address, url=plain, owner_url=url),
        partial(Address, url=plain, direct_url=url),
    )
    for made in ways:
        with pytest.raises(InvalidInput) as caught:
            made()
        assert "s3cret" not in str(caught.value)
        assert caught.value.__cause__ is None


def test_the_owner_and_the_direct_url_default_to_the_url() -> None:
    plain = Address(url="postgresql:///a")
    assert (plain.owner, plain.direct) == (plain.url, plain.url)
    full = Address(url="postgresql:///a", owner_url="postgresql:///b", direct_url="postgresql:///c")
    assert (full.owner, full.direct) == ("postgresql:///b", "postgresql:///c")
