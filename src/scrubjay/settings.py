"""All settings in one object. Only this module and `paths` read the environment."""

import os
from collections.abc import Mapping
from dataclasses import field, fields, replace
from pathlib import Path
from typing import Self, TypeVar

from scrubjay.errors import InvalidInput
from scrubjay.lazy import dataclass
from scrubjay.model.code import CodeLimits
from scrubjay.model.draft import Limits
from scrubjay.model.health import Thresholds, TokenPrice
from scrubjay.model.ranking import Ranking
from scrubjay.model.rules import Rules
from scrubjay.paths import data_folder, index_folder, notes_folder

_TRUE = ("1", "true", "yes", "on")
_FALSE = ("0", "false", "no", "off")
_POSITIVE = (
    "embedding_threads", "readers", "max_text_bytes", "max_attachment_bytes", "max_body_bytes", "max_requests",
    "operation_seconds", "llm_seconds", "database_connections", "qdrant_shards", "qdrant_replicas", "rerank_top",
)  # fmt: skip


DEFAULT_TOOLS = "core"
T = TypeVar("T", str, int, bool)


def _setting(default: T, env: str, doc: str, *, secret: bool = False) -> T:
    return field(default=default, metadata={"env": env, "doc": doc}, repr=not secret)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings; each field has an environment variable and a description."""

    home: str = _setting(
        "", "SCRUBJAY_HOME", "Data folder. Default: `scrubjay` in the user data folder of the platform."
    )
    index_path: str = _setting(
        "",
        "SCRUBJAY_INDEX_PATH",
        "Folder of the vector index, which can be rebuilt. Default: `index` in the data folder.",
    )
    notestore_path: str = _setting(
        "",
        "SCRUBJAY_NOTESTORE_PATH",
        "Folder of Markdown notes, synchronized with the memory. Default: the one used last, else `notes` in the data "
        "folder, created with the first note. An encrypted store has one only if this names it.",
    )
    notes_filename: str = _setting(
        "auto",
        "SCRUBJAY_NOTES_FILENAME",
        "Names of the files of new notes: `id` (`work-title-0197f3c2-….md`), `title` (`work/Title.md`, with a short "
        "suffix if the name is taken), or `auto`: `title` in an adopted vault, else `id`.",
    )
    space: str = _setting("default", "SCRUBJAY_SPACE", "The space that commands work in.")
    agent: str = _setting(
        "", "SCRUBJAY_AGENT", "Name of the agent, recorded with every change; `undo` applies to its changes."
    )
    embedder: str = _setting(
        "bundled",
        "SCRUBJAY_EMBEDDER",
        "`bundled` (offline), `static` (offline, faster, less exact), `onnx` (a model in a folder), "
        "`openai` (any server with /v1/embeddings), `voyage`, `sentence-transformers`, `multilingual` (one of them, "
        "for a hundred languages), `clip` (texts and pictures), `minilm` (the bundled model of earlier versions, if "
        "its package is installed), or `none` for lexical search alone.",
    )
    import_embedder: str = _setting(
        "",
        "SCRUBJAY_IMPORT_EMBEDDER",
        "`static` makes a large import findable by meaning within seconds; the daemon makes the vectors of the "
        "embedder afterwards. Default: the embedder itself.",
    )
    embedding_model: str = _setting("", "SCRUBJAY_EMBEDDING_MODEL", "The model's name, or for `onnx` its folder.")
    embedding_url: str = _setting(
        "", "SCRUBJAY_EMBEDDING_URL", "Base address of an embedding server, for example http://127.0.0.1:11434/v1."
    )
    embedding_key: str = _setting(
        "", "SCRUBJAY_EMBEDDING_KEY", "API key of that server. Never shown or logged.", secret=True
    )
    embedding_dimension: int = _setting(
        0,
        "SCRUBJAY_EMBEDDING_DIMENSION",
        "Length of the vectors to request from a server; 0 means the default of the model.",
    )
    embedding_threads: int = _setting(2, "SCRUBJAY_EMBEDDING_THREADS", "Threads of the bundled model.")
    allow_download: bool = _setting(
        False,  # noqa: FBT003 - the default is the first argument everywhere
        "SCRUBJAY_ALLOW_DOWNLOAD",
        "Let sentence-transformers and fastembed download a model that is not on this machine.",
    )
    key: str = _setting(
        "", "SCRUBJAY_KEY", "Encryption key of the store. Prefer a key file or the keyring.", secret=True
    )
    key_file: str = _setting("", "SCRUBJAY_KEY_FILE", "File whose first line is the encryption key.")
    keyring: str = _setting(
        "", "SCRUBJAY_KEYRING", "Name of the encryption key in the system keyring (service `scrubjay`)."
    )
    vector_index: str = _setting(
        "auto",
        "SCRUBJAY_VECTOR_INDEX",
        "`auto` (Qdrant when SCRUBJAY_QDRANT_URL is set, else pgvector's HNSW in PostgreSQL, else embedded Qdrant), "
        "`hnsw` or `ivfflat` (pgvector), or `scan` (exact, in memory).",
    )
    vector_precision: str = _setting(
        "half",
        "SCRUBJAY_VECTOR_PRECISION",
        "Precision of a pgvector index: `half` (16 bits per number) or `full` (32).",
    )
    database_url: str = _setting(
        "",
        "SCRUBJAY_DATABASE_URL",
        "PostgreSQL database to use instead of a file: postgresql://user:password@host/database.",
        secret=True,
    )
    database_owner_url: str = _setting(
        "",
        "SCRUBJAY_DATABASE_OWNER_URL",
        "The same database for the role that may change tables, if the role of the server may not.",
        secret=True,
    )
    database_direct_url: str = _setting(
        "",
        "SCRUBJAY_DATABASE_DIRECT_URL",
        "The same database without a pooler such as PgBouncer, for work that needs a connection of its own.",
        secret=True,
    )
    database_connections: int = _setting(
        10, "SCRUBJAY_DATABASE_CONNECTIONS", "Maximum number of connections to the database."
    )
    database_partitions: int = _setting(
        0,
        "SCRUBJAY_DATABASE_PARTITIONS",
        "Number of partitions, by space, of the tables of a new database; 0 means none.",
    )
    qdrant_url: str = _setting(
        "", "SCRUBJAY_QDRANT_URL", "Qdrant server or cluster for vector search, for example http://127.0.0.1:6333."
    )
    qdrant_key: str = _setting("", "SCRUBJAY_QDRANT_KEY", "API key of that server. Never shown or logged.", secret=True)
    qdrant_collection: str = _setting("scrubjay", "SCRUBJAY_QDRANT_COLLECTION", "Collection on the Qdrant server.")
    qdrant_shards: int = _setting(1, "SCRUBJAY_QDRANT_SHARDS", "Shards of a new collection.")
    qdrant_replicas: int = _setting(1, "SCRUBJAY_QDRANT_REPLICAS", "Copies of each shard of a new collection.")
    recall_without: str = _setting(
        "",
        "SCRUBJAY_RECALL_WITHOUT",
        "Stages of recall to switch off, separated by commas: words, meaning, context, kin, pairs, phrases, dates, "
        "names, manner, standing, typos, rerank, reader, variants.",
    )
    recall_weights: str = _setting(
        "",
        "SCRUBJAY_RECALL_WEIGHTS",
        "Weights of the parts of a score, such as `recency=0,name=1`; docs/explanation/recall.md lists them all.",
    )
    reranker: str = _setting(
        "none",
        "SCRUBJAY_RERANKER",
        "Cross-encoder that reorders the best hits: `sentence-transformers`, `fastembed`, or `none`.",
    )
    reranker_model: str = _setting(
        "",
        "SCRUBJAY_RERANKER_MODEL",
        "Model of the reranker, by name or folder. Default: a small English one, ms-marco-MiniLM-L-6.",
    )
    rerank_top: int = _setting(30, "SCRUBJAY_RERANK_TOP", "Number of best hits that the reranker scores per question.")
    pair_model: str = _setting(
        "auto",
        "SCRUBJAY_PAIR_MODEL",
        "Model that reads two statements together, to find what a write changes or says again: `auto` (the bundled "
        "one, beside the bundled embedder), `off` (the rules alone), or the folder of one.",
    )
    reader: bool = _setting(
        True,  # noqa: FBT003
        "SCRUBJAY_READER",
        "Let that model read the question together with the best hits of a recall, where their order is in doubt.",
    )
    write_rules: str = _setting(
        "",
        "SCRUBJAY_WRITE_RULES",
        "Rules for new memories in spaces without rules of their own: `gate=report,density=off`. "
        "docs/explanation/write-path.md lists them all.",
    )
    llm: str = _setting(
        "off",
        "SCRUBJAY_LLM",
        "Language model that improves new memories: `openai` (any server with /v1/chat/completions), "
        "`anthropic`, another provider by its name in pydantic-ai, or `off`.",
    )
    llm_model: str = _setting("", "SCRUBJAY_LLM_MODEL", "Name of the language model, as its provider spells it.")
    llm_url: str = _setting(
        "",
        "SCRUBJAY_LLM_URL",
        "Base address of the server of the language model, for example http://127.0.0.1:11434/v1.",
    )
    llm_key: str = _setting("", "SCRUBJAY_LLM_KEY", "API key of that server. Never shown or logged.", secret=True)
    llm_seconds: int = _setting(30, "SCRUBJAY_LLM_SECONDS", "Time limit of one answer, in seconds.")
    llm_daily_calls: int = _setting(
        1000, "SCRUBJAY_LLM_DAILY_CALLS", "Maximum number of requests per day; 0 means no limit."
    )
    llm_daily_tokens: int = _setting(
        1_000_000, "SCRUBJAY_LLM_DAILY_TOKENS", "Maximum number of tokens per day, input and output; 0 means no limit."
    )
    llm_price: str = _setting(
        "",
        "SCRUBJAY_LLM_PRICE",
        "Price of a million tokens of input and of output, such as `0.25,2`: `health` and `status` then show the cost. "
        "Default: no cost.",
    )
    curation_hours: int = _setting(
        24,
        "SCRUBJAY_CURATION_HOURS",
        "Hours between two runs of curation, which the daemon starts by itself; 0 means that it starts none.",
    )
    curation_quiet: str = _setting(
        "",
        "SCRUBJAY_CURATION_QUIET",
        "Hours of the day, by the clock of the machine, in which the daemon does not curate, for example `8:00-18:30`.",
    )
    code_wall: str = _setting(
        "auto",
        "SCRUBJAY_CODE_WALL",
        "What is around the programs of `run_code`: `auto` (bubblewrap and prlimit where they work), or `required` "
        "(no programs without bubblewrap).",
    )
    code_limits: str = _setting(
        "",
        "SCRUBJAY_CODE_LIMITS",
        "Limits of those programs, such as `seconds=10,memory_mb=100`; docs/explanation/code.md lists them all.",
    )
    usage: bool = _setting(
        True,  # noqa: FBT003
        "SCRUBJAY_USAGE",
        "Count what is asked, found and read, for `usage`. If it is off, what was counted of a space is deleted when "
        "it is next used.",
    )
    alerts: str = _setting(
        "",
        "SCRUBJAY_ALERTS",
        "Thresholds of the alerts of `health`, such as `conflicts=20,thin=0`; 0 means no alert. "
        "docs/how-to/observe.md lists them all.",
    )
    alert_webhook: str = _setting(
        "",
        "SCRUBJAY_ALERT_WEBHOOK",
        "Address to which the daemon posts, as JSON, the alerts that begin and end. Never shown or logged.",
        secret=True,
    )
    readers: int = _setting(4, "SCRUBJAY_READERS", "Reading threads of the store.")
    recall_processes: int = _setting(
        1,
        "SCRUBJAY_RECALL_PROCESSES",
        "Processes that answer questions beside the daemon while many clients ask at once; with SQLite, and on more "
        "than one core. Each takes some 90 MB, and more with a large store; 0 starts none.",
    )
    http: str = _setting(
        "127.0.0.1:7272",
        "SCRUBJAY_HTTP",
        "Address at which the daemon serves HTTP, in addition to its socket, or `off`.",
    )
    hosts: str = _setting(
        "",
        "SCRUBJAY_HOSTS",
        "Host names of the daemon over HTTP, in addition to those of this machine, separated by commas.",
    )
    require_token: bool = _setting(
        False,  # noqa: FBT003
        "SCRUBJAY_REQUIRE_TOKEN",
        "Require a token for every HTTP request, even from this machine.",
    )
    jwt_issuer: str = _setting(
        "",
        "SCRUBJAY_JWT_ISSUER",
        "Accept JWTs of this issuer in addition to tokens of Scrubjay; requires the audience and the JWKS.",
    )
    jwt_audience: str = _setting("", "SCRUBJAY_JWT_AUDIENCE", "Required audience of a JWT.")
    jwt_jwks: str = _setting(
        "", "SCRUBJAY_JWT_JWKS", "JWKS with the keys of the issuer: an https address, http on this machine, or a file."
    )
    jwt_spaces_claim: str = _setting(
        "spaces",
        "SCRUBJAY_JWT_SPACES_CLAIM",
        "Claim of a JWT that lists its spaces; `sub` gives every subject a space of its own.",
    )
    requests_per_minute: int = _setting(
        6000,
        "SCRUBJAY_REQUESTS_PER_MINUTE",
        "Requests per minute of a token without a limit of its own; 0 means no limit.",
    )
    max_body_bytes: int = _setting(
        16_777_216,
        "SCRUBJAY_MAX_BODY_BYTES",
        "Maximum size of the body of an HTTP request, unless its token has a limit of its own.",
    )
    url: str = _setting(
        "", "SCRUBJAY_URL", "Server to use instead of the data folder, for example https://memory.example.org."
    )
    token: str = _setting("", "SCRUBJAY_TOKEN", "Token for that server. Never shown or logged.", secret=True)
    tools: str = _setting(
        DEFAULT_TOOLS, "SCRUBJAY_TOOLS", "MCP toolsets for agents, for example `core,kg`; `all` means all of them."
    )
    max_requests: int = _setting(
        1000,
        "SCRUBJAY_MAX_REQUESTS",
        "Maximum number of requests that wait in the daemon; it asks further ones to retry.",
    )
    operation_seconds: int = _setting(
        30,
        "SCRUBJAY_OPERATION_SECONDS",
        "Time in seconds in which the daemon answers an operation, if only to say that it is busy.",
    )
    log_level: str = _setting("info", "SCRUBJAY_LOG_LEVEL", "Log level of the daemon: debug, info, warning or error.")
    clock_file: str = _setting(
        "",
        "SCRUBJAY_CLOCK_FILE",
        "For tests and benchmarks: a file with the moment (RFC 3339) that counts as now. Time runs on from there "
        "until the file changes.",
    )
    traces: str = _setting(
        "off",
        "SCRUBJAY_TRACES",
        "Target of OpenTelemetry traces of the daemon: `otlp` (configured by OTEL_* variables), `console`, or `off`.",
    )
    max_text_bytes: int = _setting(
        1_000_000, "SCRUBJAY_MAX_TEXT_BYTES", "Maximum length of the text of a memory, in bytes of UTF-8."
    )
    max_attachment_bytes: int = _setting(
        100_000_000, "SCRUBJAY_MAX_ATTACHMENT_BYTES", "Maximum size of an attached file."
    )

    def __post_init__(self) -> None:
        """Refuse values that cannot work."""
        for setting in fields(self):
            if setting.name in _POSITIVE and getattr(self, setting.name) < 1:
                raise InvalidInput(f"{setting.metadata['env']} must be at least 1", setting=setting.metadata["env"])

    @classmethod
    def load(cls, *, environment: Mapping[str, str] | None = None, **overrides: str | int | bool | None) -> Self:
        """Return the settings: overrides, else the environment, else defaults; an override may be a text too."""
        env = os.environ if environment is None else environment
        values: dict[str, str | int | bool] = {}
        for setting in fields(cls):
            name = setting.metadata["env"]
            override = overrides.get(setting.name)
            if isinstance(override, str):
                values[setting.name] = _parse(override, name=setting.name, like=setting.default)
            elif override is not None:
                values[setting.name] = override
            elif env.get(name):  # An empty variable counts as unset.
                values[setting.name] = _parse(env[name], name=name, like=setting.default)
        try:
            values["home"] = values.get("home") or str(data_folder(environment=env))
            data_folder(str(values["home"]))
        except RuntimeError:
            if values.get("url"):
                # A server has the memory.
                return cls(**values)  # type: ignore[arg-type]
            raise InvalidInput(
                "there is no home folder for the memory",
                hint="Set HOME, or choose a data folder with --data or SCRUBJAY_HOME",
                setting="SCRUBJAY_HOME",
            ) from None
        return cls(**values)  # type: ignore[arg-type]

    def with_overrides(self, **overrides: str | int | bool | None) -> Self:
        """Return a copy with the values that are not None."""
        return replace(self, **{name: value for name, value in overrides.items() if value is not None})

    @property
    def short_lived(self) -> Self:
        """A copy for a short-lived process: opening the embedded index would take longer than a scan.

        An index on a server stays: it is as fast for one query, and a scan would fetch all its vectors.
        """
        is_embedded = self.vector_index == "auto" and not (self.database_url or self.qdrant_url)
        return replace(self, vector_index="scan") if is_embedded else self

    @property
    def owning_index(self) -> Self:
        """A copy for a process that must open the index on disk, even one that is left from before."""
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
        """The ranking of recall."""
        return Ranking.parse(without=self.recall_without, weights=self.recall_weights)

    @property
    def rules(self) -> Rules:
        """The rules of spaces without rules of their own."""
        return Rules.parse(self.write_rules)

    @property
    def code(self) -> CodeLimits:
        """The limits of programs."""
        return CodeLimits.parse(self.code_limits)

    @property
    def thresholds(self) -> Thresholds:
        """The thresholds of alerts."""
        return Thresholds.parse(self.alerts)

    @property
    def token_price(self) -> TokenPrice:
        """The price of the tokens of the language model."""
        return TokenPrice.parse(self.llm_price)

    @property
    def limits(self) -> Limits:
        """The limits of requests."""
        return Limits(text_bytes=self.max_text_bytes)


def _parse(text: str, *, name: str, like: object) -> str | int | bool:
    if isinstance(like, bool):
        if text.strip().lower() in (*_TRUE, *_FALSE):
            return text.strip().lower() in _TRUE
        raise InvalidInput(f"{name} must be true or false, not {text!r}", setting=name)
    if isinstance(like, int):
        if not text.strip().isdecimal():
            raise InvalidInput(f"{name} must be a whole number, not {text!r}", setting=name)
        return int(text)
    return text
