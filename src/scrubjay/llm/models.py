"""The model that was chosen, as pydantic-ai knows it. Importing it takes long: nobody does unless one is configured."""

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from scrubjay.errors import LlmUnavailable
from scrubjay.llm.config import OPENAI, Chosen

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider

OPENAI_URL = "https://api.openai.com/v1"
_MOST_BYTES = 4_000_000
_OURS = (OPENAI, "anthropic")
_LOCAL = ("127.0.0.1", "localhost", "::1")
# A server of one's own asks for none, and the SDK wants one.
_NO_KEY = "none"


class TooMuch(ValueError):
    """An answer is larger than any that was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A model and the connection that it is asked through."""

    model: "Model"
    http: "httpx2.AsyncClient"


def open_model(chosen: Chosen) -> Opened:
    """Load the SDK and make the model; raises LlmUnavailable when it is not installed or knows no such model."""
    try:
        from pydantic_ai.exceptions import UserError  # noqa: PLC0415 - takes long to load, and only some need it

        http = _client(chosen)
        try:
            return Opened(model=_model(chosen, http), http=http)
        except (UserError, ValueError, TypeError) as error:
            # What the SDK says may hold what was given to it.
            raise LlmUnavailable(
                f"there is no language model {chosen.name!r} ({type(error).__name__})",
                hint="See SCRUBJAY_LLM, SCRUBJAY_LLM_MODEL, SCRUBJAY_LLM_URL and SCRUBJAY_LLM_KEY",
                reason="refused",
                put_off=3600.0,
            ) from None
    except ImportError as error:
        raise _not_installed(chosen, error) from None


def _not_installed(chosen: Chosen, error: ImportError) -> LlmUnavailable:
    # The SDK wraps the error that has the name.
    inner = error.__cause__ if isinstance(error.__cause__, ImportError) else error
    package = "scrubjay[llm]" if chosen.provider in _OURS else f"pydantic-ai-slim[{chosen.provider}]"
    return LlmUnavailable(
        f"the language model {chosen.name!r} needs a package that is not installed: {inner.name or 'pydantic_ai'}",
        hint=f"Install it with: pip install '{package}'",
        reason="missing",
        put_off=3600.0,
    )


def _model(chosen: Chosen, http: "httpx2.AsyncClient") -> "Model":
    if chosen.provider == OPENAI:
        return _openai(chosen, http)
    from pydantic_ai.models import infer_model  # noqa: PLC0415

    return infer_model(chosen.name, lambda name: _provider(name, chosen, http))


def _openai(chosen: Chosen, http: "httpx2.AsyncClient") -> "Model":
    """A model behind chat completions: OpenAI's own, or any server that speaks as it does."""
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415
    from pydantic_ai.profiles.openai import OpenAIModelProfile  # noqa: PLC0415
    from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider  # noqa: PLC0415

    if not chosen.url:
        provider = OpenAIProvider(base_url=OPENAI_URL, api_key=chosen.key or None, http_client=http)
        return OpenAIChatModel(chosen.model, provider=provider)
    provider = OpenAICompatibleProvider(
        "compatible", base_url=chosen.url, api_key=chosen.key or _NO_KEY, http_client=http
    )
    # The older name of the limit is the one that all of them know.
    profile = OpenAIModelProfile(openai_chat_supports_max_completion_tokens=False)
    return OpenAIChatModel(chosen.model, provider=provider, profile=profile)


def _provider(name: str, chosen: Chosen, http: "httpx2.AsyncClient") -> "Provider[object]":
    """A provider by the name that pydantic-ai gives it; without a key it looks where its own SDK does."""
    from pydantic_ai.providers import infer_provider_class  # noqa: PLC0415

    kind = infer_provider_class(name)
    inputs: dict[str, object] = {"api_key": chosen.key, "base_url": chosen.url, "http_client": http}
    takes = inspect.signature(kind.__init__).parameters
    options = {option: value for option, value in inputs.items() if value and option in takes}
    if chosen.url and "base_url" not in takes:
        raise ValueError(name)
    return cast("Provider[object]", kind(**options))


def _client(chosen: Chosen) -> "httpx2.AsyncClient":
    import httpx2  # noqa: PLC0415

    async def limit(response: httpx2.Response) -> None:
        response.stream = _limited(cast("httpx2.AsyncByteStream", response.stream))

    local = urlsplit(chosen.url).hostname in _LOCAL
    return httpx2.AsyncClient(timeout=chosen.seconds, trust_env=not local, event_hooks={"response": [limit]})


def _limited(stream: "httpx2.AsyncByteStream") -> "httpx2.AsyncByteStream":
    import httpx2  # noqa: PLC0415

    class Limited(httpx2.AsyncByteStream):
        async def __aiter__(self):  # noqa: ANN204 - an iterator of bytes
            size = 0
            async for chunk in stream:
                size += len(chunk)
                if size > _MOST_BYTES:
                    raise TooMuch
                yield chunk

        async def aclose(self) -> None:
            await stream.aclose()

    return Limited()
