"""The embedding model as a choice: that of the settings, until `reembed` chooses another for the store."""

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from scrubjay.app.indexes import make_index
from scrubjay.app.models import EMBEDDERS, SINGLE_MODELS, make_embedder, model_name
from scrubjay.app.notes_location import notes_location
from scrubjay.app.stores import is_encrypted
from scrubjay.embedding.bundled import former_model_file
from scrubjay.embedding.profiles import BUNDLED, MINILM
from scrubjay.engine.model_switch import (
    Choice,
    ChosenModel,
    ModelInUse,
    ModelSwitch,
    read_chosen_model,
    write_chosen_model,
)
from scrubjay.errors import InvalidInput, ScrubjayError
from scrubjay.model.memory import Json
from scrubjay.ports import Clock, MediaSource, RecordStore
from scrubjay.settings import Settings

_log = logging.getLogger(__name__)
# The embedders whose model has a folder, or a server with an address.
_SERVERS = ("openai", "voyage")


async def open_models(settings: Settings, store: RecordStore, *, clock: Clock) -> ModelSwitch:
    """Return the model that `reembed` has chosen, if the settings are still those that it replaced; else theirs."""
    own = choice_of(settings)
    chosen = await _chosen(own, store, clock=clock)
    choice, temporary = (chosen.choice, chosen.temporary) if chosen else (own, False)
    try:
        current = _open_model(settings, store, choice)
    except ScrubjayError as error:
        if choice == own:
            raise
        _log.warning("the chosen embedding model cannot be used", extra={"fields": {"error": error.code}})
        choice, temporary, current = own, False, _open_model(settings, store, own)
    return ModelSwitch(
        current, choice=choice, settings=own, choose=_choose, open_model=partial(_open_model, settings, store),
        store=store, clock=clock, temporary=temporary, bulk=_bulk_embedder(settings),
    )  # fmt: skip


def choice_of(settings: Settings) -> dict[str, Json]:
    """Return the model of the settings."""
    return {
        "embedder": settings.embedder, "model": settings.embedding_model, "url": settings.embedding_url,
        "dimension": settings.embedding_dimension,
    }  # fmt: skip


def _bulk_embedder(settings: Settings) -> str:
    if settings.import_embedder not in ("", "static"):
        raise InvalidInput(
            f"imports cannot be embedded by {settings.import_embedder!r}",
            hint="SCRUBJAY_IMPORT_EMBEDDER is static, or empty for the embedder itself",
            setting="SCRUBJAY_IMPORT_EMBEDDER",
        )
    # Without vectors there is nothing to stand in for.
    return "" if settings.embedder in ("none", settings.import_embedder) else settings.import_embedder


async def _chosen(own: Choice, store: RecordStore, *, clock: Clock) -> ChosenModel | None:
    chosen = await read_chosen_model(store)
    if chosen and chosen.temporary and chosen.choice.get("embedder") == "minilm" and former_model_file() is None:
        # It cannot stand in any longer: its package has been removed.
        with suppress(ScrubjayError):
            await write_chosen_model(store, None, now=clock.now())
        chosen = None
    if chosen is None:
        return await _former_bundled_model(own, store, clock=clock)
    if chosen.replaces == own:
        return chosen
    if chosen.choice != own and not chosen.holds_for(own):
        return None
    # The settings name the model themselves now, or an earlier version has written their default.
    chosen = replace(chosen, replaces=own, temporary=chosen.temporary and chosen.choice != own)
    with suppress(ScrubjayError):
        await write_chosen_model(store, chosen, now=chosen.at or clock.now())
    return chosen


async def _former_bundled_model(own: Choice, store: RecordStore, *, clock: Clock) -> ChosenModel | None:
    """Return the model that was bundled once, if it has embedded the store and is installed: it goes on for a while.

    Questions need the model that made the vectors. Without its package, texts are found by their words until they are
    embedded again.
    """
    embedded_by = await store.models()
    if own.get("embedder") != "bundled" or MINILM not in embedded_by or BUNDLED in embedded_by:
        return None
    if former_model_file() is None:
        _log.warning("the store was embedded by a model that is not installed", extra={"fields": {"model": MINILM}})
        return None
    former = {**own, "embedder": "minilm"}
    chosen = ChosenModel(choice=former, replaces=own, temporary=True)
    with suppress(ScrubjayError):
        await write_chosen_model(store, chosen, now=clock.now())
    return chosen


def _choose(current: Choice, named: str, url: str, dimension: int) -> dict[str, Json]:
    """Return the choice that a user names; a name alone is a model of the current embedder."""
    kind, _, name = named.strip().partition(":")
    if kind not in EMBEDDERS:
        kind, name = str(current.get("embedder")), named.strip()
    if kind == "none":
        raise InvalidInput("without an embedder there are no vectors", hint="Name a model", field="model")
    if kind in SINGLE_MODELS:
        if name not in ("", SINGLE_MODELS[kind]):
            raise InvalidInput(
                f"there is no model {name[:100]!r}: {kind} is one model, and needs no name",
                hint="Name the embedder too, as in sentence-transformers:NAME or openai:NAME; "
                f"the embedders are {', '.join(EMBEDDERS)}",
                field="model",
            )
        name = ""
    if url and kind not in _SERVERS:
        raise InvalidInput(f"the embedder {kind!r} has no address", hint="Leave out the address", field="url")
    if kind in _SERVERS and not url and kind == current.get("embedder"):
        url = str(current.get("url", ""))
    if kind == "onnx":
        name = str(Path(name).expanduser().absolute()) if name else ""
    return {"embedder": kind, "model": name, "url": url, "dimension": dimension}


def _open_model(settings: Settings, store: RecordStore, choice: Mapping[str, Json]) -> ModelInUse:
    own = choice_of(settings)
    chosen = replace(
        settings, embedder=str(choice.get("embedder", "")), embedding_model=str(choice.get("model", "")),
        embedding_url=str(choice.get("url", "")), embedding_dimension=int(str(choice.get("dimension") or 0)),
    )  # fmt: skip
    embedder = make_embedder(chosen)
    # The index of the model of the settings is in the folder itself, and so where every version looks for it.
    folder = "" if dict(choice) == own else f"{model_name(chosen)}@{chosen.embedding_dimension or ''}"
    index = make_index(chosen, store, embedder, model=folder)
    return ModelInUse(embedder=embedder, index=index, media_source=_media_source(chosen))


def _media_source(settings: Settings) -> MediaSource | None:
    """Return the images of the notes, if the model embeds images."""
    if settings.embedder != "clip" or (is_encrypted(settings) and not settings.notestore_path):
        return None
    from scrubjay.notes.attachments.storage import NoteMedia  # noqa: PLC0415 - few models embed images

    return NoteMedia(notes_location(settings).folder)
