-- The first schema. Later changes are migrations in `schema.py`; this file then stays as it is.
--
-- `no` is a number within this file; ids are the bytes of UUIDs; times are microseconds since 1970.

CREATE TABLE migrations(name TEXT PRIMARY KEY, applied_at INTEGER NOT NULL);
CREATE TABLE meta(key TEXT PRIMARY KEY, value);

-- `change_count` numbers the changes of a space on their own: gaps in `changes.seq` would reveal other spaces' writes.
CREATE TABLE spaces(
  no INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  body_count INTEGER NOT NULL DEFAULT 0,
  change_count INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE models(no INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, dimension INTEGER NOT NULL);

-- ---- memories and their versions ----

-- Bodies are in `versions` only. A memory's row holds the fields that are searched or counted without reading a body.
-- `passage_format` is the `text.passages.SHAPE` that its passages were made with. A migration that raises that number
-- has to create the partial index `memories_passage_format` for it.
CREATE TABLE memories(
  no INTEGER PRIMARY KEY AUTOINCREMENT,
  id BLOB NOT NULL,
  space_no INTEGER NOT NULL,
  name TEXT NOT NULL,
  title TEXT NOT NULL,
  title_hash INTEGER NOT NULL,
  title_slug_hash INTEGER NOT NULL,
  name_slug_hash INTEGER NOT NULL,
  content_hash INTEGER NOT NULL,
  index_digest BLOB NOT NULL,
  facets TEXT NOT NULL,
  state INTEGER NOT NULL,
  pinned INTEGER NOT NULL,
  group_name TEXT,
  version INTEGER NOT NULL,
  passage_count INTEGER NOT NULL,
  date INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  last_accessed INTEGER,
  access_count INTEGER NOT NULL DEFAULT 0,
  tier INTEGER NOT NULL DEFAULT 0,
  relevance REAL NOT NULL DEFAULT 1,
  last_confirmed INTEGER,
  passage_format INTEGER NOT NULL DEFAULT 1
);
CREATE UNIQUE INDEX memories_id ON memories(space_no, id);
CREATE UNIQUE INDEX memories_live_name ON memories(space_no, name) WHERE state = 0;
CREATE INDEX memories_other_name ON memories(space_no, name) WHERE state <> 0;
CREATE INDEX memories_title ON memories(space_no, title_hash) WHERE title_hash <> 0;
CREATE INDEX memories_title_slug ON memories(space_no, title_slug_hash) WHERE title_slug_hash <> 0;
CREATE INDEX memories_name_slug ON memories(space_no, name_slug_hash);
CREATE INDEX memories_content ON memories(space_no, content_hash) WHERE state = 0 AND content_hash <> 0;
CREATE INDEX memories_recent ON memories(space_no, state, updated_at DESC, id DESC);
CREATE INDEX memories_pinned ON memories(space_no, created_at) WHERE pinned = 1 AND state = 0;
CREATE INDEX memories_group ON memories(space_no, group_name) WHERE group_name IS NOT NULL;
CREATE INDEX memories_passage_format ON memories(no) WHERE passage_format < 3;

-- The ids of purged memories, which the log still names.
CREATE TABLE purged_memories(memory_no INTEGER PRIMARY KEY, id BLOB NOT NULL);

CREATE TABLE versions(
  memory_no INTEGER NOT NULL,
  number INTEGER NOT NULL,
  parent INTEGER,
  action TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  run_no INTEGER NOT NULL,
  message TEXT NOT NULL,
  encoding INTEGER NOT NULL,
  dictionary_no INTEGER NOT NULL,
  checksum BLOB NOT NULL,
  size INTEGER NOT NULL,
  body BLOB NOT NULL,
  PRIMARY KEY(memory_no, number)
) WITHOUT ROWID;

-- Dictionaries for the compression of bodies. One that was trained on a purged text is tainted.
CREATE TABLE dictionaries(
  no INTEGER PRIMARY KEY AUTOINCREMENT,
  space_no INTEGER NOT NULL,
  data BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  body_count INTEGER NOT NULL,
  tainted INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX dictionaries_space ON dictionaries(space_no, no);
-- Every write looks for the newest one that is not tainted; in its row that flag follows all the data.
CREATE INDEX dictionaries_untainted ON dictionaries(space_no, no, body_count) WHERE tainted = 0;

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

-- ---- passages and the lexical index ----

-- The id of a passage is its memory's number * 65536 + its ordinal. Its row repeats the memory's space and id, so that
-- candidates are read without the memory's row. `session_key` is a hash of space, state and session: within one key,
-- the index orders passages by date and then by id, in which every index of SQLite ends.
CREATE TABLE passages(
  id INTEGER PRIMARY KEY,
  space_no INTEGER NOT NULL,
  memory_id BLOB NOT NULL,
  hash BLOB NOT NULL,
  date INTEGER NOT NULL,
  observation INTEGER,
  start INTEGER NOT NULL,
  end INTEGER NOT NULL,
  terms TEXT NOT NULL,
  session_key INTEGER,
  speaker TEXT NOT NULL DEFAULT '',
  question INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX passages_hash ON passages(hash);
CREATE INDEX passages_session ON passages(session_key, date);

CREATE VIRTUAL TABLE postings USING fts5(
  words, content='', contentless_delete=1, detail='none', tokenize='ascii'
);

-- A lexicon counts one state of one space, so that no statistic of a space depends on another's texts.
CREATE TABLE lexicons(
  no INTEGER PRIMARY KEY,
  passage_count INTEGER NOT NULL,
  term_count INTEGER NOT NULL
);
CREATE TABLE terms(
  lexicon_no INTEGER NOT NULL,
  term TEXT NOT NULL,
  passage_count INTEGER NOT NULL,
  PRIMARY KEY(lexicon_no, term)
) WITHOUT ROWID;
CREATE TABLE trigrams(
  lexicon_no INTEGER NOT NULL,
  trigram TEXT NOT NULL,
  term TEXT NOT NULL,
  PRIMARY KEY(lexicon_no, trigram, term)
) WITHOUT ROWID;
CREATE TABLE facets(
  lexicon_no INTEGER NOT NULL,
  facet TEXT NOT NULL,
  memory_count INTEGER NOT NULL,
  PRIMARY KEY(lexicon_no, facet)
) WITHOUT ROWID;

-- ---- vectors ----

-- Vectors of texts that only older versions have are kept apart, quantized: rows of one size fill their pages.
CREATE TABLE vectors(
  no INTEGER PRIMARY KEY,
  space_no INTEGER NOT NULL,
  model_no INTEGER NOT NULL,
  hash BLOB NOT NULL,
  vector BLOB NOT NULL
);
CREATE UNIQUE INDEX vectors_key ON vectors(space_no, model_no, hash);
CREATE TABLE historical_vectors(
  no INTEGER PRIMARY KEY,
  space_no INTEGER NOT NULL,
  model_no INTEGER NOT NULL,
  hash BLOB NOT NULL,
  vector BLOB NOT NULL
);
CREATE UNIQUE INDEX historical_vectors_key ON historical_vectors(space_no, model_no, hash);
CREATE VIEW all_vectors AS
  SELECT space_no, model_no, hash, vector FROM vectors
  UNION ALL SELECT space_no, model_no, hash, vector FROM historical_vectors;

-- ---- the change log ----

-- Every version has an entry in the log, and most have a run of their own: an agent's name is stored once.
CREATE TABLE agents(no INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);

-- `id` holds the bytes of a UUID, or the text of a name.
CREATE TABLE runs(
  no INTEGER PRIMARY KEY,
  space_no INTEGER NOT NULL,
  id TEXT NOT NULL,
  undoes INTEGER,
  undone INTEGER NOT NULL DEFAULT 0,
  last_seq INTEGER NOT NULL DEFAULT 0,
  agent_no INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX runs_id ON runs(space_no, id);
CREATE INDEX runs_agent ON runs(space_no, agent_no, last_seq);

-- `space_seq` is the number of a change within its space. Only changes of relations are looked up by their memory.
CREATE TABLE changes(
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  space_no INTEGER NOT NULL,
  run_no INTEGER NOT NULL,
  memory_no INTEGER NOT NULL,
  action TEXT NOT NULL,
  version INTEGER NOT NULL,
  base_version INTEGER,
  passages_before INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  relation TEXT,
  target_no INTEGER,
  space_seq INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX changes_run ON changes(run_no);
CREATE INDEX changes_memory ON changes(memory_no) WHERE relation IS NOT NULL;
CREATE INDEX changes_target ON changes(target_no) WHERE target_no IS NOT NULL;
CREATE UNIQUE INDEX changes_space_seq ON changes(space_no, space_seq);

-- The first result of each request that came with an idempotency key.
CREATE TABLE idempotency_keys(
  space_no INTEGER NOT NULL,
  key TEXT NOT NULL,
  request_digest BLOB NOT NULL,
  result TEXT NOT NULL,
  run_no INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY(space_no, key)
) WITHOUT ROWID;

-- ---- documents and tokens ----

-- A document may be about one or two memories, and is purged with either.
CREATE TABLE documents(
  space_no INTEGER NOT NULL,
  collection TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  version INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  due_at INTEGER,
  memory_id BLOB,
  other_memory_id BLOB,
  PRIMARY KEY(space_no, collection, key)
) WITHOUT ROWID;
CREATE INDEX documents_due ON documents(collection, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX documents_memory ON documents(space_no, memory_id) WHERE memory_id IS NOT NULL;
CREATE INDEX documents_other_memory ON documents(space_no, other_memory_id) WHERE other_memory_id IS NOT NULL;
CREATE INDEX documents_latest ON documents(space_no, collection, updated_at);

-- A token belongs to the store, not to a space: a purge of memories leaves it as it is.
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
