"""Databases and backups of schemas before the first supported one, as far as the store recognises them."""

import json
from pathlib import Path

import psycopg
import zstandard
from psycopg.rows import TupleRow
from tests.postgres import shared_server

_TABLES = """
CREATE SCHEMA scrubjay;
CREATE TABLE scrubjay.migrations(no integer PRIMARY KEY, name text NOT NULL UNIQUE, applied_at bigint NOT NULL);
CREATE TABLE scrubjay.meta(key text PRIMARY KEY, value text NOT NULL);
INSERT INTO scrubjay.meta VALUES ('store_id', 'old')
"""
_NAMES = (
    "first tables", "allowances", "neighbours", "papers", "lines of versions", "paper trails", "lineages",
)  # fmt: skip
_RELATIONS = """SELECT c.oid::regclass::text, a.attname, a.atttypid::regtype::text FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.relnamespace = 'scrubjay'::regnamespace AND a.attnum > 0
    ORDER BY 1, a.attnum"""
_OTHERS = """SELECT proname FROM pg_proc WHERE pronamespace = 'scrubjay'::regnamespace
    UNION ALL SELECT extname FROM pg_extension UNION ALL SELECT nspname FROM pg_namespace ORDER BY 1"""


async def make_old_database(name: str, version: int) -> None:
    """Set an empty database up as schema `version` did."""
    async with await psycopg.AsyncConnection.connect(shared_server().url(name), autocommit=True) as connection:
        await connection.execute(_TABLES)
        for number, step in enumerate(_NAMES[:version], start=1):
            await connection.execute("INSERT INTO scrubjay.migrations VALUES (%s, %s, 0)", (number, step))


async def everything_in(name: str) -> list[list[TupleRow]]:
    """Return the tables, columns, functions, extensions and rows of such a database."""
    queries = (_RELATIONS, _OTHERS, "SELECT * FROM scrubjay.migrations", "SELECT * FROM scrubjay.meta")
    async with await psycopg.AsyncConnection.connect(shared_server().url(name)) as connection:
        return [await (await connection.execute(query.encode())).fetchall() for query in queries]


def make_old_backup(target: Path, version: int) -> None:
    """Write a backup with the header of schema `version`, and one table."""
    head = {
        "format": "scrubjay-postgresql-1", "schema": version, "tables": {"spaces": ["no", "name"]},
        "sequences": {"scrubjay.memory_numbers": 99},
    }  # fmt: skip
    copied = b"PGCOPY\n\xff\r\n\x00" + bytes(8) + b"\xff\xff"
    plain = json.dumps(head).encode() + b"\n" + len(copied).to_bytes(8, "big") + copied + bytes(8)
    target.write_bytes(zstandard.ZstdCompressor(write_checksum=True).compress(plain))
