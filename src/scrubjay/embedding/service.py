"""What is known of an embedding service before it is asked anything."""

import ipaddress
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit, urlunsplit

from scrubjay.embedding.model_id import model_id
from scrubjay.embedding.profiles import profile_of
from scrubjay.errors import InvalidInput
from scrubjay.ports import Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """Where a service is, which model it runs, and how patient to be with it.

    `traits` are the model's, unless it is known by its name.
    `timeout` is the longest a batch may take, waits and retries included; a question has `query_timeout`.
    After a failure the service is left alone for `cooldown` seconds, so that every search is not kept waiting.
    """

    url: str
    model: str
    api_key: str = field(default="", repr=False)
    dimensions: int | None = None
    traits: Profile | None = None
    batch_size: int = 32
    longest: int = 8000
    timeout: float = 60.0
    query_timeout: float = 10.0
    retries: int = 4
    cooldown: float = 30.0

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise InvalidInput("the URL of the embedding service must look like https://host/v1")
        if parts.username or parts.password:
            raise InvalidInput("the URL of the embedding service holds a password", hint="set the API key instead")
        # A header with other characters fails in the depths, with the whole key in the error's text.
        if not (self.api_key.isascii() and self.api_key.isprintable()) or " " in self.api_key:
            raise InvalidInput("the API key of the embedding service has characters that no key has")
        if not self.model:
            raise InvalidInput("the embedding service needs the name of a model")
        if min(self.batch_size, self.longest, self.timeout, self.query_timeout) <= 0 or self.retries < 0:
            raise InvalidInput("batch size, length and timeouts of the embedding service must be above zero")

    @property
    def endpoint(self) -> str:
        """The address that texts are sent to."""
        parts = urlsplit(self.url)
        path = parts.path.rstrip("/")
        if not path.endswith("/embeddings"):
            path = f"{path or '/v1'}/embeddings"
        return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))

    @property
    def shown(self) -> str:
        """The address as errors show it, without a query that may hold secrets."""
        return self.endpoint.partition("?")[0]

    @property
    def is_local(self) -> bool:
        """Whether it runs on this machine, where no proxy leads to."""
        host = urlsplit(self.url).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"

    @property
    def known(self) -> Profile:
        """What is known of the model; its dimension is what the service says."""
        return self.traits or profile_of(self.model)

    def profile(self, dimension: int) -> Profile:
        """The profile of a model whose dimension is known."""
        existing = self.known
        name = model_id(self.model, dimensions=self.dimensions, text_prefix=existing.text_prefix)
        return replace(existing, model=name, dimension=dimension)
