# What Scrubjay uses of reportlab, whose own types are not known to a checker.

A4: tuple[float, float]
