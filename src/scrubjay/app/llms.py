"""Which language model the settings choose."""

from scrubjay.errors import InvalidInput
from scrubjay.llm.client import LanguageModel
from scrubjay.llm.config import Chosen
from scrubjay.ports import Clock, DocumentStore, Llm
from scrubjay.settings import Settings

_OFF = "off"


def make_llm(settings: Settings, *, documents: DocumentStore, clock: Clock) -> Llm | None:
    """The language model that the settings choose, if any; nothing is loaded before it is first asked."""
    if settings.llm == _OFF:
        return None
    provider, _, named = settings.llm.partition(":")
    model = settings.llm_model or named
    if not provider or not model:
        raise InvalidInput(
            f"the language model {settings.llm!r} needs a name",
            hint="Set SCRUBJAY_LLM_MODEL, as its provider spells it",
            setting="SCRUBJAY_LLM_MODEL",
        )
    chosen = Chosen(
        provider=provider,
        model=model,
        url=settings.llm_url,
        key=settings.llm_key,
        seconds=settings.llm_seconds,
        daily_calls=settings.llm_daily_calls,
        daily_tokens=settings.llm_daily_tokens,
    )
    return LanguageModel(chosen, documents=documents, clock=clock)
