"""The date and time of now, for models that do not know it."""

from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from scrubjay.errors import InvalidInput
from scrubjay.model.checks import require_text
from scrubjay.notes.results import CurrentDate

__all__ = ["FORMATS", "current_date"]

FORMATS = ("iso", "locale", "timestamp", "date_only")
_HERE = Path("/etc/localtime")
_ZONES = "zoneinfo/"
_LONGEST_ZONE = 100


def current_date(now: datetime, *, format: str = "iso", timezone: str = "") -> CurrentDate:
    """A moment in a format, in a time zone or in that of this machine; `timestamp` is seconds since 1970."""
    if format not in FORMATS:
        raise InvalidInput(f"format must be one of {', '.join(FORMATS)}, not {str(format)[:60]!r}", field="format")
    local = now.astimezone(_zone(timezone)) if timezone else now.astimezone()
    local = local.replace(microsecond=0)
    said = {
        "iso": local.isoformat(),
        "locale": f"{local:%A}, {local.day} {local:%B %Y}, {local:%H:%M:%S} {local.tzname()}",
        "timestamp": str(int(local.timestamp())),
        "date_only": local.date().isoformat(),
    }
    return CurrentDate(
        date=said[format],
        format=format,
        iso=said["iso"],
        timestamp=int(local.timestamp()),
        timezone=timezone or _name_of_here() or str(local.tzname()),
        utc_offset=local.isoformat()[-6:],
        weekday=f"{local:%A}",
    )


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(require_text(name, field="timezone")[:_LONGEST_ZONE])
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidInput(
            f"there is no time zone {name[:60]!r}", hint="Give it as Europe/Berlin, or leave it out", field="timezone"
        ) from None


def _name_of_here() -> str:
    """What the time zone of this machine is called, where the system says so."""
    try:
        return str(_HERE.readlink()).partition(_ZONES)[2]
    except OSError:
        return ""
