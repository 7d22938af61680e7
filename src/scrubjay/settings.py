"""All settings in one object. Only this module and `paths` read the environment."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Self, TypeVar

from scrubjay.errors import InvalidInput
from scrubjay.model.draft import Limits
from scrubjay.model.ranking import Ranking
from scrubjay.model.rules import Rules
from scrubjay.paths import data_folder, index_folder, notes_folder

_TRUE = ("1", "true", "yes", "on")
_FALSE = ("0", "false", "no", "off")
_AT_LEAST_ONE = (
    "embedding_threads", "readers", "max_text_bytes", "max_attachment_bytes", "max_body_bytes", "max_requests",
    "operation_seconds", "llm_seconds", "database_connections", "qdrant_shards", "qdrant_replicas", "rerank_top",
)  # fmt: skip


T = TypeVar("T", str, int, bool)


def _setting(default: T, env: str, doc: str, *, secret: bool = False) -> T:
    return field(default=default, metadata={"env": env, "doc": doc}, repr=not secret)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a user can choose; each field names its environment variable and says what it does."""

    home: str = _setting("", "SCRUBJAY_HOME", "Data folder. Default: the platform's place for user data.")
    index_path: str = _setting(
        "",
        "SCRUBJAY_INDEX_PATH",
        "Folder of what can be rebuilt (the vector index). Default: `index` in the data folder.",
    )
    notestore_path: str = _setting(
        "",
        "SCRUBJAY_NOTESTORE_PATH",
        "Folder of Markdown notes that is kept in step with the memory. Default: the one that was used last, else "
        "`notes` in the data folder, made with the first note.",
    )
    space: str = _setting("default", "SCRUBJAY_SPACE", "The space that commands work in.")
    agent: str = _setting("", "SCRUBJAY_AGENT", "Who writes, as noted with every change; `undo` goes by it.")
    embedder: str = _setting(
        "minilm",
        "SCRUBJAY_EMBEDDER",
        "`minilm` (bundled, offline), `onnx` (a model in a folder), `openai` (any server with /v1/embeddings), "
        "`voyage`, `sentence-transformers`, `clip` (texts and pictures), or `none` for lexical search alone.",
    )
    embedding_model: str = _setting("", "SCRUBJAY_EMBEDDING_MODEL", "The model's name, or for `onnx` its folder.")
    embedding_url: str = _setting(
        "", "SCRUBJAY_EMBEDDING_URL", "Base address of an embedding server, for example http://127.0.0.1:11434/v1."
    )
    embedding_key: str = _setting("", "SCRUBJAY_EMBEDDING_KEY", "Its API key. Never shown or logged.", secret=True)
    embedding_dimension: int = _setting(
        0, "SCRUBJAY_EMBEDDING_DIMENSION", "Ask a server for vectors of this length; 0 leaves it to the model."
    )
    embedding_threads: int = _setting(2, "SCRUBJAY_EMBEDDING_THREADS", "Threads the bundled model computes with.")
    allow_download: bool = _setting(
        False,  # noqa: FBT003 - the default comes first, as for the others
        "SCRUBJAY_ALLOW_DOWNLOAD",
        "Let sentence-transformers and fastembed fetch a model that is not on this machine.",
    )
    key: str = _setting(
        "", "SCRUBJAY_KEY", "Encryption key of the store. Prefer a key file or the keyring.", secret=True
    )
    key_file: str = _setting("", "SCRUBJAY_KEY_FILE", "File whose first line is the encryption key.")
    keyring: str = _setting(
        "", "SCRUBJAY_KEYRING", "Name under which the system keyring holds the encryption key (service `scrubjay`)."
    )
    vector_index: str = _setting(
        "auto",
        "SCRUBJAY_VECTOR_INDEX",
        "`auto` (Qdrant when SCRUBJAY_QDRANT_URL is set, else pgvector's HNSW in PostgreSQL, else embedded Qdrant), "
        "`hnsw` or `ivfflat` (pgvector's), or `scan` (exact, in memory).",
    )
    vector_precision: str = _setting(
        "half",
        "SCRUBJAY_VECTOR_PRECISION",
        "What pgvector's index is made of: `half` (16 bits a number) or `full` (32).",
    )
    database_url: str = _setting(
        "",
        "SCRUBJAY_DATABASE_URL",
        "A PostgreSQL database to remember in, instead of a file: postgresql://user:password@host/database.",
        secret=True,
    )
    database_owner_url: str = _setting(
        "",
        "SCRUBJAY_DATABASE_OWNER_URL",
        "The same database for the role that may change its tables, if the server's own may not.",
        secret=True,
    )
    database_direct_url: str = _setting(
        "",
        "SCRUBJAY_DATABASE_DIRECT_URL",
        "The same database past a pooler such as PgBouncer, for what needs a connection of its own.",
        secret=True,
    )
    database_connections: int = _setting(
        10, "SCRUBJAY_DATABASE_CONNECTIONS", "So many connections to the database at most."
    )
    database_partitions: int = _setting(
        0,
        "SCRUBJAY_DATABASE_PARTITIONS",
        "Split the tables of a new database by space into so many partitions; 0 splits nothing.",
    )
    qdrant_url: str = _setting(
        "", "SCRUBJAY_QDRANT_URL", "A Qdrant server or cluster to search vectors in, for example http://127.0.0.1:6333."
    )
    qdrant_key: str = _setting("", "SCRUBJAY_QDRANT_KEY", "Its API key. Never shown or logged.", secret=True)
    qdrant_collection: str = _setting("scrubjay", "SCRUBJAY_QDRANT_COLLECTION", "The collection to use there.")
    qdrant_shards: int = _setting(1, "SCRUBJAY_QDRANT_SHARDS", "Shards of a new collection.")
    qdrant_replicas: int = _setting(1, "SCRUBJAY_QDRANT_REPLICAS", "Copies of each shard of a new collection.")
    recall_without: str = _setting(
        "",
        "SCRUBJAY_RECALL_WITHOUT",
        "Stages that recall leaves out, separated by commas: words, meaning, context, kin, pairs, phrases, dates, "
        "names, manner, standing, typos, rerank.",
    )
    recall_weights: str = _setting(
        "",
        "SCRUBJAY_RECALL_WEIGHTS",
        "What parts of a score are worth, such as `recency=0,name=1`; docs/explanation/recall.md lists them all.",
    )
    reranker: str = _setting(
        "none",
        "SCRUBJAY_RERANKER",
        "A cross-encoder that orders the best hits anew: `sentence-transformers`, `fastembed`, or `none`.",
    )
    reranker_model: str = _setting(
        "",
        "SCRUBJAY_RERANKER_MODEL",
        "Its model, by name or folder. Default: a small English one, ms-marco-MiniLM-L-6.",
    )
    rerank_top: int = _setting(30, "SCRUBJAY_RERANK_TOP", "So many of the best hits it reads for each question.")
    write_rules: str = _setting(
        "",
        "SCRUBJAY_WRITE_RULES",
        "What becomes of what is written, unless a space has rules of its own: `gate=report,density=off`. "
        "docs/explanation/write-path.md lists them all.",
    )
    llm: str = _setting(
        "off",
        "SCRUBJAY_LLM",
        "A language model that improves what was written: `openai` (any server with /v1/chat/completions), "
        "`anthropic`, another provider by the name pydantic-ai gives it, or `off`.",
    )
    llm_model: str = _setting("", "SCRUBJAY_LLM_MODEL", "The model's name, as its provider spells it.")
    llm_url: str = _setting(
        "", "SCRUBJAY_LLM_URL", "Base address of its server, for example http://127.0.0.1:11434/v1."
    )
    llm_key: str = _setting("", "SCRUBJAY_LLM_KEY", "Its API key. Never shown or logged.", secret=True)
    llm_seconds: int = _setting(30, "SCRUBJAY_LLM_SECONDS", "So long one answer may take.")
    llm_daily_calls: int = _setting(1000, "SCRUBJAY_LLM_DAILY_CALLS", "So many questions a day at most; 0 is no limit.")
    llm_daily_tokens: int = _setting(
        1_000_000, "SCRUBJAY_LLM_DAILY_TOKENS", "So many tokens a day at most, asked and answered; 0 is no limit."
    )
    readers: int = _setting(4, "SCRUBJAY_READERS", "Reading threads of the store.")
    http: str = _setting("127.0.0.1:7272", "SCRUBJAY_HTTP", "Where the daemon serves HTTP beside its socket, or `off`.")
    hosts: str = _setting(
        "",
        "SCRUBJAY_HOSTS",
        "Names under which the daemon may be addressed over HTTP beside those of this machine, separated by commas.",
    )
    require_token: bool = _setting(
        False,  # noqa: FBT003
        "SCRUBJAY_REQUIRE_TOKEN",
        "Ask everyone who comes by HTTP for a token, also on this machine.",
    )
    jwt_issuer: str = _setting(
        "",
        "SCRUBJAY_JWT_ISSUER",
        "Take JWTs of this issuer beside tokens of our own; needs the audience and the JWKS too.",
    )
    jwt_audience: str = _setting("", "SCRUBJAY_JWT_AUDIENCE", "The audience that a JWT must be meant for.")
    jwt_jwks: str = _setting(
        "", "SCRUBJAY_JWT_JWKS", "The issuer's keys as a JWKS: an https address, http on this machine, or a file."
    )
    jwt_spaces_claim: str = _setting(
        "spaces",
        "SCRUBJAY_JWT_SPACES_CLAIM",
        "The claim of a JWT that names the spaces it opens; `sub` gives every subject a space of its own.",
    )
    requests_per_minute: int = _setting(
        6000,
        "SCRUBJAY_REQUESTS_PER_MINUTE",
        "What one token may ask in a minute, unless it has a limit; 0 is no limit.",
    )
    max_body_bytes: int = _setting(
        16_777_216,
        "SCRUBJAY_MAX_BODY_BYTES",
        "Largest body of one HTTP request, unless its token has a limit of its own.",
    )
    url: str = _setting(
        "", "SCRUBJAY_URL", "A server to talk to instead of the data folder, for example https://memory.example.org."
    )
    token: str = _setting("", "SCRUBJAY_TOKEN", "The token to show to that server. Never shown or logged.", secret=True)
    tools: str = _setting(
        "core", "SCRUBJAY_TOOLS", "The MCP toolsets that agents see, for example `core,kg`; `all` is everything."
    )
    max_requests: int = _setting(
        1000, "SCRUBJAY_MAX_REQUESTS", "So many requests may wait in the daemon at once; more are told to retry."
    )
    operation_seconds: int = _setting(
        30, "SCRUBJAY_OPERATION_SECONDS", "The daemon answers an operation within this time, if only to say it is busy."
    )
    log_level: str = _setting("info", "SCRUBJAY_LOG_LEVEL", "What the daemon logs: debug, info, warning or error.")
    traces: str = _setting(
        "off",
        "SCRUBJAY_TRACES",
        "Where the daemon sends OpenTelemetry traces: `otlp` (as the OTEL_* variables say), `console`, or `off`.",
    )
    max_text_bytes: int = _setting(
        1_000_000, "SCRUBJAY_MAX_TEXT_BYTES", "Longest text of one memory, in bytes of UTF-8."
    )
    max_attachment_bytes: int = _setting(
        100_000_000, "SCRUBJAY_MAX_ATTACHMENT_BYTES", "Largest file that is kept beside the notes."
    )

    def __post_init__(self) -> None:
        """Refuse what nothing can work with."""
        for setting in fields(self):
            if setting.name in _AT_LEAST_ONE and getattr(self, setting.name) < 1:
                raise InvalidInput(f"{setting.metadata['env']} must be at least 1", setting=setting.metadata["env"])

    @classmethod
    def load(cls, *, environment: Mapping[str, str] | None = None, **given: str | int | bool | None) -> Self:
        """Settings from what is given, else from the environment, else the defaults."""
        env = os.environ if environment is None else environment
        values: dict[str, str | int | bool] = {}
        for setting in fields(cls):
            name = setting.metadata["env"]
            chosen = given.get(setting.name)
            if chosen is not None:
                values[setting.name] = chosen
            elif env.get(name):  # Set to nothing is not set, as for most programs.
                values[setting.name] = _parsed(env[name], name=name, like=setting.default)
        if not values.get("home"):
            values["home"] = str(data_folder(environment=env))
        return cls(**values)  # type: ignore[arg-type]

    def with_given(self, **given: str | int | bool | None) -> Self:
        """These settings, changed where something is given."""
        return replace(self, **{name: value for name, value in given.items() if value is not None})

    @property
    def in_passing(self) -> Self:
        """These settings for what is over in a moment: to open the embedded index would take longer than to scan.

        An index elsewhere is as good for one question as for many, and a scan would fetch all that it holds.
        """
        is_embedded = self.vector_index == "auto" and not (self.database_url or self.qdrant_url)
        return replace(self, vector_index="scan") if is_embedded else self

    @property
    def holding_index(self) -> Self:
        """These settings for what must take hold of the index, also of one that is left on disk from before."""
        return replace(self, vector_index="auto") if self.vector_index == "scan" else self

    @property
    def data(self) -> Path:
        """The data folder."""
        return data_folder(self.home)

    @property
    def index(self) -> Path:
        """The folder of the vector index."""
        return index_folder(self.data, self.index_path or None)

    @property
    def notestore(self) -> Path:
        """The folder of Markdown notes."""
        return notes_folder(self.data, self.notestore_path or None)

    @property
    def ranking(self) -> Ranking:
        """How recall ranks."""
        return Ranking.parse(without=self.recall_without, weights=self.recall_weights)

    @property
    def rules(self) -> Rules:
        """What becomes of what is written, where a space has no rules of its own."""
        return Rules.parse(self.write_rules)

    @property
    def limits(self) -> Limits:
        """How much a caller may hand in."""
        return Limits(text_bytes=self.max_text_bytes)


def _parsed(text: str, *, name: str, like: object) -> str | int | bool:
    if isinstance(like, bool):
        if text.strip().lower() in (*_TRUE, *_FALSE):
            return text.strip().lower() in _TRUE
        raise InvalidInput(f"{name} must be true or false, not {text!r}", setting=name)
    if isinstance(like, int):
        if not text.strip().isdecimal():
            raise InvalidInput(f"{name} must be a whole number, not {text!r}", setting=name)
        return int(text)
    return text
