"""The collection on a Qdrant server: creates it, and extends an existing one for another model."""

from qdrant_client import AsyncQdrantClient, models

from scrubjay.errors import IndexUnavailable
from scrubjay.lazy import dataclass
from scrubjay.vectors.payload import AT, FACETS, TENANT
from scrubjay.vectors.qdrant_address import QdrantAddress
from scrubjay.vectors.qdrant_codec import BUILD, ModelNamespace

# Changes of a collection go through the consensus of the cluster.
_SECONDS = 30
_BYTES_PER_DIMENSION = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class QdrantTuning:
    """The options of a real server: the in-memory mode of the client scans everything and has no indexes."""

    ef: int = 128
    # Up to this many points that pass a filter are scanned, which is exact and takes a few milliseconds.
    exact_up_to: int = 20_000

    def params(self, filter: models.Filter, *, limit: int, exact: bool) -> models.SearchParams:
        """Return the parameters of a search."""
        # A filter makes holes in the graph: ACORN and a wider search look past neighbours that do not pass. A filter
        # by the space alone makes none, because the space has graph links of its own.
        filtered = isinstance(filter.must, list) and len(filter.must) > 1
        return models.SearchParams(
            hnsw_ef=max(limit, 2 * self.ef if filtered else self.ef),
            exact=exact,
            acorn=models.AcornSearchParams(enable=filtered),
        )

    async def index_payload(self, client: AsyncQdrantClient, collection: str) -> None:
        """Create indexes on all fields of filters; existing ones stay as they are."""
        keyword, integer = models.KeywordIndexType.KEYWORD, models.IntegerIndexType.INTEGER
        schemas: dict[str, models.KeywordIndexParams | models.IntegerIndexParams] = {
            TENANT: models.KeywordIndexParams(type=keyword, is_tenant=True, enable_hnsw=True),
            # Graph links for a payload field make optimising several times slower: only the tenant's are worth it.
            FACETS: models.KeywordIndexParams(type=keyword, enable_hnsw=False),
            AT: models.IntegerIndexParams(type=integer, lookup=False, range=True, enable_hnsw=False),
            BUILD: models.IntegerIndexParams(type=integer, lookup=True, range=False, enable_hnsw=False),
        }
        for name, schema in schemas.items():
            await client.create_payload_index(
                collection, field_name=name, field_schema=schema, wait=True, timeout=_SECONDS
            )


async def prepare_collection(
    client: AsyncQdrantClient, address: QdrantAddress, namespace: ModelNamespace, tuning: QdrantTuning | None
) -> None:
    """Create the collection, or the vector of this model in it; the points of other models stay."""
    if not await client.collection_exists(address.collection):
        await _create(client, address, namespace, tuning or QdrantTuning())
    else:
        size = await vector_size(client, address, namespace)
        if size not in (None, namespace.dimension):
            await client.delete_vector_name(address.collection, namespace.name, wait=True, timeout=_SECONDS)
        if size != namespace.dimension:
            dense = models.DenseVectorConfig(
                size=namespace.dimension,
                distance=models.Distance.COSINE,
                datatype=models.VectorStorageDatatype.FLOAT16,
            )
            config = models.DenseVectorNameConfig(dense=dense)
            await client.create_vector_name(address.collection, namespace.name, config, wait=True, timeout=_SECONDS)
    if tuning:
        await tuning.index_payload(client, address.collection)


async def vector_size(client: AsyncQdrantClient, address: QdrantAddress, namespace: ModelNamespace) -> int | None:
    """Return the dimension of this model's vectors in the collection; None if it has no such vector."""
    vectors = (await client.get_collection(address.collection)).config.params.vectors
    if not isinstance(vectors, dict):
        raise IndexUnavailable(
            f"the collection {address.collection!r} on Qdrant was created by another program",
            hint="Choose another one with SCRUBJAY_QDRANT_COLLECTION",
            reason="foreign",
        )
    params = vectors.get(namespace.name)
    return params.size if params else None


async def _create(
    client: AsyncQdrantClient, address: QdrantAddress, namespace: ModelNamespace, tuning: QdrantTuning
) -> None:
    vector = models.VectorParams(
        size=namespace.dimension,
        distance=models.Distance.COSINE,
        datatype=models.Datatype.FLOAT16,
        on_disk=address.on_disk,
    )
    await client.create_collection(
        address.collection,
        vectors_config={namespace.name: vector},
        shard_number=address.shards,
        replication_factor=address.replicas,
        write_consistency_factor=address.write_consistency,
        on_disk_payload=True,
        hnsw_config=models.HnswConfigDiff(
            m=16,
            ef_construct=100,
            full_scan_threshold=max(10, tuning.exact_up_to * namespace.dimension * _BYTES_PER_DIMENSION // 1024),
            on_disk=address.on_disk,
        ),
        timeout=_SECONDS,
    )
