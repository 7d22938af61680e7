"""The tables, as an ordered list of named migrations."""

import time
from collections.abc import Callable
from pathlib import Path

import apsw

from scrubjay.errors import StoreDamaged, StoreTooNew
from scrubjay.model.identity import new_id
from scrubjay.text.grams import grams_of

Migration = Callable[[apsw.Connection], None]
_TERMS_AT_ONCE = 10_000
_APPLICATION = 0x53_4A_41_59  # "SJAY": tells our files from other SQLite databases


def migrate(connection: apsw.Connection, *, path: Path) -> None:
    """Bring the file to the newest schema; several processes may try at once."""
    known = len(MIGRATIONS)
    if applied(connection, path) == known:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        done = applied(connection, path)
        for name, step in MIGRATIONS[done:]:
            step(connection)
            connection.execute("INSERT INTO migrations VALUES(?, ?)", (name, time.time_ns() // 1000))
        connection.pragma("application_id", _APPLICATION)
        connection.pragma("user_version", known)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def applied(connection: apsw.Connection, path: Path) -> int:
    """How many migrations a file has had; raises when it is of another program or of a newer version."""
    application = connection.pragma("application_id")
    version = int(connection.pragma("user_version"))
    if application not in (0, _APPLICATION) or (application == 0 and _has_tables(connection)):
        raise StoreDamaged(
            f"{path} is a database of another program", hint="Choose another folder with --data", path=str(path)
        )
    if version > len(MIGRATIONS):
        raise StoreTooNew(
            f"{path} was written by a newer Scrubjay (schema {version}, this one knows {len(MIGRATIONS)})",
            hint="Update Scrubjay; the file was not touched",
            path=str(path),
            schema=version,
        )
    return version


def _has_tables(connection: apsw.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone() is not None


def _first_tables(connection: apsw.Connection) -> None:
    connection.execute(_FIRST_TABLES)
    connection.execute("INSERT INTO meta VALUES('store_id', ?)", (new_id(),))


# Bodies stand in `versions` only; a memory's row is what must be found or counted without reading a body.
# The number of a passage is memory number * 65536 + ordinal; its row repeats the memory's space and id, so that
# candidates are read without a look at the memory. `terms` and `facets` are counted per space and state, so
# that no statistic of one space depends on another's texts.
_FIRST_TABLES = """
CREATE TABLE migrations(name TEXT PRIMARY KEY, applied_at INTEGER NOT NULL);
CREATE TABLE meta(key TEXT PRIMARY KEY, value);
CREATE TABLE spaces(no INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, bodies INTEGER NOT NULL DEFAULT 0);
CREATE TABLE models(no INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, dimension INTEGER NOT NULL);

CREATE TABLE memories(
  no INTEGER PRIMARY KEY AUTOINCREMENT,
  id BLOB NOT NULL,
  space_no INTEGER NOT NULL,
  name TEXT NOT NULL,
  title TEXT NOT NULL,
  title_key INTEGER NOT NULL,
  bare_key INTEGER NOT NULL,
  name_key INTEGER NOT NULL,
  content_key INTEGER NOT NULL,
  index_key BLOB NOT NULL,
  facets TEXT NOT NULL,
  state INTEGER NOT NULL,
  pinned INTEGER NOT NULL,
  grouped TEXT,
  version INTEGER NOT NULL,
  passages INTEGER NOT NULL,
  date INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  last_accessed INTEGER,
  access_count INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX memories_id ON memories(space_no, id);
CREATE UNIQUE INDEX memories_live_name ON memories(space_no, name) WHERE state = 0;
CREATE INDEX memories_name ON memories(space_no, name) WHERE state <> 0;
CREATE INDEX memories_title ON memories(space_no, title_key) WHERE title_key <> 0;
CREATE INDEX memories_bare ON memories(space_no, bare_key) WHERE bare_key <> 0;
CREATE INDEX memories_bare_name ON memories(space_no, name_key);
CREATE INDEX memories_content ON memories(space_no, content_key) WHERE state = 0 AND content_key <> 0;
CREATE INDEX memories_recent ON memories(space_no, state, updated_at DESC, id DESC);
CREATE INDEX memories_pinned ON memories(space_no, created_at) WHERE pinned = 1 AND state = 0;
CREATE INDEX memories_grouped ON memories(space_no, grouped) WHERE grouped IS NOT NULL;

CREATE TABLE versions(
  memory_no INTEGER NOT NULL,
  number INTEGER NOT NULL,
  parent INTEGER,
  action TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  run_no INTEGER NOT NULL,
  message TEXT NOT NULL,
  encoding INTEGER NOT NULL,
  dictionary INTEGER NOT NULL,
  sha256 BLOB NOT NULL,
  size INTEGER NOT NULL,
  body BLOB NOT NULL,
  PRIMARY KEY(memory_no, number)
) WITHOUT ROWID;

CREATE TABLE dictionaries(
  no INTEGER PRIMARY KEY AUTOINCREMENT,
  space_no INTEGER NOT NULL,
  data BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  bodies INTEGER NOT NULL,
  tainted INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX dictionaries_space ON dictionaries(space_no, no);

CREATE TABLE relations(
  source_no INTEGER NOT NULL,
  type TEXT NOT NULL,
  target_no INTEGER NOT NULL,
  space_no INTEGER NOT NULL,
  text TEXT NOT NULL,
  strength REAL NOT NULL,
  metadata TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY(source_no, type, target_no)
) WITHOUT ROWID;
CREATE INDEX relations_target ON relations(target_no);

CREATE TABLE passages(
  id INTEGER PRIMARY KEY,
  space_no INTEGER NOT NULL,
  memory_id BLOB NOT NULL,
  hash BLOB NOT NULL,
  date INTEGER NOT NULL,
  observation INTEGER,
  start INTEGER NOT NULL,
  end INTEGER NOT NULL,
  terms TEXT NOT NULL
);
CREATE INDEX passages_hash ON passages(hash);
CREATE VIRTUAL TABLE lexicon USING fts5(
  words, content='', contentless_delete=1, detail='none', tokenize='ascii'
);
CREATE TABLE lexicons(
  no INTEGER PRIMARY KEY,
  passages INTEGER NOT NULL,
  length INTEGER NOT NULL
);
CREATE TABLE terms(
  lexicon_no INTEGER NOT NULL,
  term TEXT NOT NULL,
  passages INTEGER NOT NULL,
  PRIMARY KEY(lexicon_no, term)
) WITHOUT ROWID;
CREATE TABLE facets(
  lexicon_no INTEGER NOT NULL,
  facet TEXT NOT NULL,
  memories INTEGER NOT NULL,
  PRIMARY KEY(lexicon_no, facet)
) WITHOUT ROWID;

CREATE TABLE vectors(
  no INTEGER PRIMARY KEY,
  space_no INTEGER NOT NULL,
  model_no INTEGER NOT NULL,
  hash BLOB NOT NULL,
  vector BLOB NOT NULL
);
CREATE UNIQUE INDEX vectors_key ON vectors(space_no, model_no, hash);

CREATE TABLE runs(
  no INTEGER PRIMARY KEY,
  space_no INTEGER NOT NULL,
  id TEXT NOT NULL,
  agent TEXT NOT NULL,
  undoes INTEGER,
  undone INTEGER NOT NULL DEFAULT 0,
  last_seq INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX runs_id ON runs(space_no, id, agent);
CREATE INDEX runs_agent ON runs(space_no, agent, last_seq);

CREATE TABLE changes(
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  space_no INTEGER NOT NULL,
  run_no INTEGER NOT NULL,
  memory_no INTEGER NOT NULL,
  memory_id BLOB NOT NULL,
  action TEXT NOT NULL,
  version INTEGER NOT NULL,
  base INTEGER,
  passages_before INTEGER NOT NULL,
  at INTEGER NOT NULL,
  relation TEXT,
  target_no INTEGER
);
CREATE INDEX changes_run ON changes(run_no);
CREATE INDEX changes_memory ON changes(memory_no);
CREATE INDEX changes_target ON changes(target_no) WHERE target_no IS NOT NULL;

CREATE TABLE once(
  space_no INTEGER NOT NULL,
  key TEXT NOT NULL,
  digest BLOB NOT NULL,
  answer TEXT NOT NULL,
  run_no INTEGER NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY(space_no, key)
) WITHOUT ROWID;
"""


def _places(connection: apsw.Connection) -> None:
    connection.execute(_PLACES)


# What is told of a space's changes counts those of the space alone: the gaps in `seq` would tell of others'.
_PLACES = """
ALTER TABLE spaces ADD COLUMN changes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE changes ADD COLUMN place INTEGER NOT NULL DEFAULT 0;
UPDATE changes SET place = counted.place
  FROM (SELECT seq, row_number() OVER (PARTITION BY space_no ORDER BY seq) AS place FROM changes) AS counted
  WHERE counted.seq = changes.seq;
UPDATE spaces SET changes = (SELECT count(*) FROM changes WHERE space_no = spaces.no);
CREATE UNIQUE INDEX changes_place ON changes(space_no, place);
"""


def _tokens(connection: apsw.Connection) -> None:
    connection.execute(_TOKENS)


# A token belongs to the store, not to a space: purging the memories of a space leaves it as it is.
_TOKENS = """
CREATE TABLE tokens(
  no INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  digest BLOB NOT NULL UNIQUE,
  name TEXT NOT NULL,
  spaces TEXT NOT NULL,
  access TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER,
  requests_per_minute INTEGER NOT NULL,
  body_bytes INTEGER NOT NULL
);
"""


def _threads(connection: apsw.Connection) -> None:
    connection.execute(_THREADS)
    last: tuple[int, str] = (-1, "")
    # In portions: a term has as many trigrams as letters, and all of a large vocabulary would fill the memory.
    while known := connection.execute(
        "SELECT lexicon_no, term FROM terms WHERE (lexicon_no, term) > (?, ?) ORDER BY lexicon_no, term LIMIT ?",
        (*last, _TERMS_AT_ONCE),
    ).fetchall():
        rows = sorted((int(number), gram, str(term)) for number, term in known for gram in grams_of(str(term)))
        connection.executemany("INSERT INTO grams VALUES(?, ?, ?)", rows)
        last = known[-1]


# `thread` is a key of space, state and session; within one, passages stand by date, then by number, which every index
# of SQLite ends in. It is NULL until the memory was read in the new way. `shape` says in which way it was: who changes
# `text.passages.SHAPE` makes the index of those to be read anew again, for the new number.
_THREADS = """
ALTER TABLE passages ADD COLUMN thread INTEGER;
ALTER TABLE passages ADD COLUMN who TEXT NOT NULL DEFAULT '';
ALTER TABLE passages ADD COLUMN asks INTEGER NOT NULL DEFAULT 0;
CREATE INDEX passages_thread ON passages(thread, date);
ALTER TABLE memories ADD COLUMN tier INTEGER NOT NULL DEFAULT 0;
ALTER TABLE memories ADD COLUMN relevance REAL NOT NULL DEFAULT 1;
ALTER TABLE memories ADD COLUMN confirmed INTEGER;
ALTER TABLE memories ADD COLUMN shape INTEGER NOT NULL DEFAULT 1;
CREATE INDEX memories_shape ON memories(no) WHERE shape < 2;
CREATE TABLE grams(
  lexicon_no INTEGER NOT NULL,
  gram TEXT NOT NULL,
  term TEXT NOT NULL,
  PRIMARY KEY(lexicon_no, gram, term)
) WITHOUT ROWID;
"""


def _papers(connection: apsw.Connection) -> None:
    connection.execute(_PAPERS)


# `memory_id` is that of the memory that a paper is about, with which it goes.
_PAPERS = """
CREATE TABLE papers(
  space_no INTEGER NOT NULL,
  drawer TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  version INTEGER NOT NULL,
  at INTEGER NOT NULL,
  due INTEGER,
  memory_id BLOB,
  PRIMARY KEY(space_no, drawer, key)
) WITHOUT ROWID;
CREATE INDEX papers_due ON papers(drawer, due) WHERE due IS NOT NULL;
CREATE INDEX papers_memory ON papers(space_no, memory_id) WHERE memory_id IS NOT NULL;
"""


# No table changes, but what is in them: branches, differences, and ids of runs as bytes. Who does not know them must
# leave the file alone.
def _lines(connection: apsw.Connection) -> None:
    connection.execute(_RUNS)


_RUNS = """
UPDATE runs SET id = unhex(replace(id, '-', ''))
  WHERE typeof(id) = 'text' AND length(id) = 36 AND id = lower(id) AND unhex(replace(id, '-', '')) IS NOT NULL
    AND id GLOB '????????-????-????-????-????????????' AND length(replace(id, '-', '')) = 32;
"""


def _paper_trails(connection: apsw.Connection) -> None:
    connection.execute(_PAPER_TRAILS)


# A paper may be about two memories. Those of a drawer are found by either of them, and the latest first.
_PAPER_TRAILS = """
ALTER TABLE papers ADD COLUMN other_id BLOB;
UPDATE papers SET other_id = unhex(value ->> '$.other', '-')
  WHERE drawer IN ('conflicts', 'settled') AND json_valid(value) AND length(unhex(value ->> '$.other', '-')) = 16;
CREATE INDEX papers_other ON papers(space_no, other_id) WHERE other_id IS NOT NULL;
CREATE INDEX papers_latest ON papers(space_no, drawer, at);
"""


def _short_past(connection: apsw.Connection) -> None:
    connection.execute(_SHORT_PAST)


# Every version has an entry in the log, and most have a run of their own: names of agents are kept once, and ids of
# memories where those are, or in `gone` when they were purged. Of a memory's entries only those that tell of relations
# are looked for. Vectors of texts that no passage has any more fade: rows of one size fill their pages. Which
# dictionary of a space is sound is asked with every write, and stands in its row behind all of the dictionary.
_SHORT_PAST = """
CREATE TABLE faded(
  no INTEGER PRIMARY KEY,
  space_no INTEGER NOT NULL,
  model_no INTEGER NOT NULL,
  hash BLOB NOT NULL,
  vector BLOB NOT NULL
);
CREATE UNIQUE INDEX faded_key ON faded(space_no, model_no, hash);
CREATE VIEW shelf AS
  SELECT space_no, model_no, hash, vector FROM vectors UNION ALL SELECT space_no, model_no, hash, vector FROM faded;

CREATE TABLE agents(no INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
INSERT INTO agents(name) SELECT DISTINCT agent FROM runs ORDER BY agent;
DROP INDEX runs_id;
DROP INDEX runs_agent;
ALTER TABLE runs ADD COLUMN agent_no INTEGER NOT NULL DEFAULT 0;
UPDATE runs SET agent_no = (SELECT no FROM agents WHERE name = runs.agent);
ALTER TABLE runs DROP COLUMN agent;
CREATE INDEX runs_id ON runs(space_no, id);
CREATE INDEX runs_agent ON runs(space_no, agent_no, last_seq);

CREATE INDEX dictionaries_sound ON dictionaries(space_no, no, bodies) WHERE tainted = 0;

CREATE TABLE gone(memory_no INTEGER PRIMARY KEY, id BLOB NOT NULL);
INSERT OR IGNORE INTO gone
  SELECT memory_no, memory_id FROM changes WHERE memory_no NOT IN (SELECT no FROM memories);
DROP INDEX changes_memory;
ALTER TABLE changes DROP COLUMN memory_id;
CREATE INDEX changes_memory ON changes(memory_no) WHERE relation IS NOT NULL;
"""


# Texts are taken apart in another way, and categories are found by those above them: all is read anew once.
def _lineages(connection: apsw.Connection) -> None:
    connection.execute("DROP INDEX memories_shape; CREATE INDEX memories_shape ON memories(no) WHERE shape < 3")


MIGRATIONS: list[tuple[str, Migration]] = [
    ("first tables", _first_tables),
    ("places", _places),
    ("tokens", _tokens),
    ("threads", _threads),
    ("papers", _papers),
    ("lines of versions", _lines),
    ("paper trails", _paper_trails),
    ("short past", _short_past),
    ("lineages", _lineages),
]
