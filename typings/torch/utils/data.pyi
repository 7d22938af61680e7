from collections.abc import Iterator
from typing import Any

class Dataset[Item]:
    def __getitem__(self, number: int) -> Item: ...
    def __len__(self) -> int: ...

class DataLoader[Item]:
    def __init__(
        self,
        dataset: Dataset[Item],
        *,
        batch_size: int | None = ...,
        num_workers: int = ...,
        prefetch_factor: int | None = ...,
    ) -> None: ...
    def __iter__(self) -> Iterator[Item]: ...

def __getattr__(name: str) -> Any: ...
