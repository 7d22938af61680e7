# What Scrubjay uses of ruamel.yaml, whose own types are not known to a checker.

from collections.abc import Iterator

from ruamel.yaml.events import Event

class YAML:
    def __init__(self, *, typ: str = ..., pure: bool = ...) -> None: ...
    def parse(self, stream: str) -> Iterator[Event]: ...
    def load(self, stream: str) -> object: ...
