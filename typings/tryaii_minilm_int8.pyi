# The one function of the package that holds the bundled model's weights.
from pathlib import Path

def model_path() -> Path: ...
