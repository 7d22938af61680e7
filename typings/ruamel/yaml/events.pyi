# What Scrubjay uses of ruamel.yaml, whose own types are not known to a checker.

from ruamel.yaml.error import Mark
from ruamel.yaml.tag import Tag

class Event:
    start_mark: Mark
    end_mark: Mark

class NodeEvent(Event):
    anchor: str | None

class CollectionStartEvent(NodeEvent):
    tag: Tag | None
    flow_style: bool | None

class CollectionEndEvent(Event): ...

class DocumentStartEvent(Event):
    explicit: bool | None
    version: tuple[int, int] | None
    tags: dict[str, str] | None

class DocumentEndEvent(Event):
    explicit: bool | None

class AliasEvent(NodeEvent): ...

class ScalarEvent(NodeEvent):
    tag: Tag | None
    value: str
    style: str | None

class MappingStartEvent(CollectionStartEvent): ...
