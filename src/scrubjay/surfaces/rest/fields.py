"""Texts and numbers as callers may write them.

Patterns are for the description alone: what does not fit them is refused by the engine, in its own words.
"""

from typing import Annotated

from pydantic import BeforeValidator, Field

from scrubjay.recalling.understand import MAX_AROUND

LONGEST_LABEL = 300
AS_OF = "What was remembered at this moment."
# What counts as blank, spelled out: `\s` is not the same everywhere.
_BLANK = r"\t-\r\u001c- \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_NO_NUL = r"^[^\u0000]*$"
NOT_BLANK = rf"^[^\u0000]*[^\u0000{_BLANK}][^\u0000]*$"
_SEEN = rf"[^{_BLANK}]"
# What every reader of JSON can count to.
_LARGEST = (1 << 53) - 1


def _whole(value: object) -> object:
    """In JSON 3.0 is a whole number, too."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


WHOLE = BeforeValidator(_whole)
Label = Annotated[str, Field(max_length=LONGEST_LABEL)]
Line = Annotated[str, Field(max_length=LONGEST_LABEL, json_schema_extra={"pattern": _NO_NUL})]
"""A label that is kept."""
Name = Annotated[str, Field(max_length=LONGEST_LABEL, min_length=1, json_schema_extra={"pattern": NOT_BLANK})]
SpaceName = Annotated[str, Field(max_length=LONGEST_LABEL, json_schema_extra={"pattern": rf"^$|{_SEEN}"})]
"""Empty is the default one."""
# How long one may be is a setting, and the engine's to say.
Text = Annotated[str, Field(json_schema_extra={"pattern": _NO_NUL})]
_Time = Annotated[str, Field(min_length=1, json_schema_extra={"format": "date-time"})]
Moment = Annotated[_Time, Field(examples=["2026-05-31T14:00:00Z"])]
Until = Annotated[_Time, Field(examples=["2026-06-30T14:00:00Z"])]
Count = Annotated[int, Field(ge=1, le=_LARGEST), WHOLE]
Thousand = Annotated[int, Field(ge=1, le=1_000), WHOLE]
Around = Annotated[int, Field(ge=0, le=MAX_AROUND), WHOLE]
