"""The name that vectors are stored under."""

import hashlib


def model_id(model: str, *, dimensions: int | None = None, pooling: str = "mean", text_prefix: str = "") -> str:
    """The model's name and whatever else makes its vectors incomparable with others of the same model."""
    size = f"@{dimensions}" if dimensions else ""
    prefix = f"+{hashlib.sha256(text_prefix.encode()).hexdigest()[:8]}" if text_prefix else ""
    manner = "" if pooling == "mean" else f"-{pooling}"
    return f"{model}{manner}{size}{prefix}"
