# PyTorch is installed for training alone, not beside the product: its names are not checked here.
from typing import Any

def __getattr__(name: str) -> Any: ...
