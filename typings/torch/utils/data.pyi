from collections.abc import Iterator
from typing import Any, Generic, TypeVar

_Item = TypeVar("_Item")

class Dataset(Generic[_Item]):
    def __getitem__(self, number: int) -> _Item: ...
    def __len__(self) -> int: ...

class DataLoader(Generic[_Item]):
    def __init__(
        self,
        dataset: Dataset[_Item],
        *,
        batch_size: int | None = ...,
        num_workers: int = ...,
        prefetch_factor: int | None = ...,
    ) -> None: ...
    def __iter__(self) -> Iterator[_Item]: ...

def __getattr__(name: str) -> Any: ...
