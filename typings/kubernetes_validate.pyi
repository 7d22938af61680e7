# The one function of the package that is used.
from collections.abc import Mapping

def validate(data: Mapping[str, object], desired_version: str, strict: bool = False) -> str: ...
