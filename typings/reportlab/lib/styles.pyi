# What Scrubjay uses of reportlab, whose own types are not known to a checker.

class ParagraphStyle:
    def __init__(self, name: str, **kw: object) -> None: ...
