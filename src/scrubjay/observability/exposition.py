"""Metrics as text, in either of the two formats that Prometheus reads."""

import math
from collections.abc import Iterable, Iterator, Mapping

from prometheus_client import Metric

PLAIN = "text/plain; version=0.0.4; charset=utf-8"
OPEN = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


def content_type(accept: str) -> str:
    """The format for whoever accepts this."""
    return OPEN if OPEN.partition(";")[0] in accept else PLAIN


def document(lines: Iterable[str], *, of: str) -> bytes:
    """The whole text of one content type."""
    return ("\n".join([*lines, *(["# EOF"] if of == OPEN else [])]) + "\n").encode()


def lines_of(families: Iterable[Metric], *, of: str) -> Iterator[str]:
    """The lines of the package's families. Its own writer takes twice as long."""
    for family in families:
        # In one format a counter's name ends in `_total`, in the other only those of its samples do.
        name = family.name if of == OPEN or family.type != "counter" else f"{family.name}_total"
        yield from heading(name, family.documentation, family.type)
        for sample in family.samples:
            yield f"{sample.name}{_labels(sample.labels)} {_number(sample.value)}"


def heading(name: str, what: str, kind: str) -> tuple[str, str]:
    """The lines that a family begins with."""
    return f"# HELP {name} {escaped(what)}", f"# TYPE {name} {kind}"


def escaped(text: str) -> str:
    """A text that stands in quotes."""
    return text.translate(_ESCAPES)


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    told = ",".join([f'{name}="{escaped(value)}"' for name, value in labels.items()])
    return f"{{{told}}}"


def _number(value: float) -> str:
    if math.isfinite(value):
        return repr(float(value))
    return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
