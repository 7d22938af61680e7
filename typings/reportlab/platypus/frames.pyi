# What Scrubjay uses of reportlab, whose own types are not known to a checker.

class Frame:
    def __init__(self, x1: float, y1: float, width: float, height: float, *, id: str) -> None: ...
