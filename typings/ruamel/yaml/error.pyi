# What Scrubjay uses of ruamel.yaml, whose own types are not known to a checker.

class Mark:
    index: int
    line: int
    column: int

class YAMLError(Exception): ...

class MarkedYAMLError(YAMLError):
    context: str | None
    context_mark: Mark | None
    problem: str | None
    problem_mark: Mark | None
