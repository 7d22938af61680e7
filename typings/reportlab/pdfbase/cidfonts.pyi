# What Scrubjay uses of reportlab, whose own types are not known to a checker.

class UnicodeCIDFont:
    fontName: str
    def __init__(self, face: str) -> None: ...
