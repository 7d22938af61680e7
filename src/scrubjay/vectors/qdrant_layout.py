"""The collection on a Qdrant server: made when it is not there, and fitted for one more model when it is."""

from dataclasses import dataclass

from qdrant_client import AsyncQdrantClient, models

from scrubjay.errors import IndexUnavailable
from scrubjay.vectors.payload import AT, FACETS, HOME
from scrubjay.vectors.qdrant_address import QdrantPlace
from scrubjay.vectors.qdrant_codec import BUILD, Series

# Changing a collection goes through the cluster's consensus.
_SECONDS = 30
_BYTES_A_NUMBER = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTuning:
    """What only a real server understands: the client's own stand-in for one scans everything and knows no indexes."""

    ef: int = 128
    # Points that pass a filter are scanned up to this many, which is exact and takes a few milliseconds.
    exact_up_to: int = 20_000

    def params(self, passing: models.Filter, *, limit: int, exact: bool) -> models.SearchParams:
        """How a search is made."""
        # A filter leaves holes in the graph: ACORN looks past neighbours that do not pass, and a wider search finds
        # what lies behind them. The space alone leaves none, since it has links of its own.
        filtered = isinstance(passing.must, list) and len(passing.must) > 1
        return models.SearchParams(
            hnsw_ef=max(limit, 2 * self.ef if filtered else self.ef),
            exact=exact,
            acorn=models.AcornSearchParams(enable=filtered),
        )

    async def index_payload(self, client: AsyncQdrantClient, collection: str) -> None:
        """Indexes on all that a filter may name; those that are there stay as they are."""
        keyword, integer = models.KeywordIndexType.KEYWORD, models.IntegerIndexType.INTEGER
        schemas: dict[str, models.KeywordIndexParams | models.IntegerIndexParams] = {
            HOME: models.KeywordIndexParams(type=keyword, is_tenant=True, enable_hnsw=True),
            # Links for a payload field make optimising several times slower: only the tenant's pay for themselves.
            FACETS: models.KeywordIndexParams(type=keyword, enable_hnsw=False),
            AT: models.IntegerIndexParams(type=integer, lookup=False, range=True, enable_hnsw=False),
            BUILD: models.IntegerIndexParams(type=integer, lookup=True, range=False, enable_hnsw=False),
        }
        for name, schema in schemas.items():
            await client.create_payload_index(
                collection, field_name=name, field_schema=schema, wait=True, timeout=_SECONDS
            )


async def prepare(client: AsyncQdrantClient, place: QdrantPlace, series: Series, tuning: ServerTuning | None) -> None:
    """Make the collection, or what it lacks for this model; what it holds of other models stays."""
    if not await client.collection_exists(place.collection):
        await _create(client, place, series, tuning or ServerTuning())
    else:
        size = await size_of(client, place, series)
        if size not in (None, series.dimension):
            await client.delete_vector_name(place.collection, series.name, wait=True, timeout=_SECONDS)
        if size != series.dimension:
            dense = models.DenseVectorConfig(
                size=series.dimension,
                distance=models.Distance.COSINE,
                datatype=models.VectorStorageDatatype.FLOAT16,
            )
            await client.create_vector_name(
                place.collection, series.name, models.DenseVectorNameConfig(dense=dense), wait=True, timeout=_SECONDS
            )
    if tuning:
        await tuning.index_payload(client, place.collection)


async def size_of(client: AsyncQdrantClient, place: QdrantPlace, series: Series) -> int | None:
    """How many numbers the collection takes for a vector of this model; None when it takes none."""
    vectors = (await client.get_collection(place.collection)).config.params.vectors
    if not isinstance(vectors, dict):
        raise IndexUnavailable(
            f"the collection {place.collection!r} on Qdrant was made by somebody else",
            hint="Choose another with SCRUBJAY_QDRANT_COLLECTION",
            reason="foreign",
        )
    held = vectors.get(series.name)
    return held.size if held else None


async def _create(client: AsyncQdrantClient, place: QdrantPlace, series: Series, tuning: ServerTuning) -> None:
    vector = models.VectorParams(
        size=series.dimension,
        distance=models.Distance.COSINE,
        datatype=models.Datatype.FLOAT16,
        on_disk=place.on_disk,
    )
    await client.create_collection(
        place.collection,
        vectors_config={series.name: vector},
        shard_number=place.shards,
        replication_factor=place.replicas,
        write_consistency_factor=place.write_consistency,
        on_disk_payload=True,
        hnsw_config=models.HnswConfigDiff(
            m=16,
            ef_construct=100,
            full_scan_threshold=max(10, tuning.exact_up_to * series.dimension * _BYTES_A_NUMBER // 1024),
            on_disk=place.on_disk,
        ),
        timeout=_SECONDS,
    )
