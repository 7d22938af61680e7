# What Scrubjay uses of ruamel.yaml, whose own types are not known to a checker.

from ruamel.yaml.error import YAMLError

class ReaderError(YAMLError):
    position: int
    character: int
