"""Tickets of the owner: who can write into the data folder owns the data, and shows it to the daemon once."""

import hashlib
import hmac
import json
import os
import secrets
import stat
import time
from pathlib import Path

TICKET_SECONDS = 120.0
"""A ticket is valid for so long, and once."""
_MAX_BYTES = 1_000
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL
# Not on every platform.
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)


def issue_ticket(file: Path) -> str:
    """Write a new ticket, which replaces the one before; the file holds its hash alone."""
    ticket = secrets.token_urlsafe(32)
    write_private(file, json.dumps({"digest": _digest(ticket), "at": time.time()}))
    return ticket


def redeem_ticket(file: Path, ticket: str) -> bool:
    """Return whether a ticket is valid, and use it up. A wrong one leaves the file as it is."""
    try:
        with os.fdopen(os.open(file, os.O_RDONLY | _NO_LINKS), "rb") as stream:
            is_ours = _is_of_this_user(os.fstat(stream.fileno()))
            value = json.loads(stream.read(_MAX_BYTES))
        digest, at = str(value["digest"]), float(value["at"])
    except (OSError, ValueError, KeyError, TypeError):
        return False
    is_valid = is_ours and hmac.compare_digest(digest, _digest(ticket)) and 0 <= time.time() - at <= TICKET_SECONDS
    if is_valid:
        file.unlink(missing_ok=True)
    return is_valid


def write_private(file: Path, text: str) -> None:
    """Replace a file by one that no other user can read."""
    partial = file.with_name(f"{file.name}.{secrets.token_hex(8)}")
    with os.fdopen(os.open(partial, _NEW_FILE, 0o600), "w", encoding="utf-8") as stream:
        stream.write(text)
    partial.replace(file)


def _is_of_this_user(about: os.stat_result) -> bool:
    """Whether a plain file is the user's of this process, where the system has users."""
    user = getattr(os, "getuid", lambda: about.st_uid)()
    return stat.S_ISREG(about.st_mode) and about.st_uid == user


def _digest(ticket: str) -> str:
    return hashlib.sha256(ticket.encode("utf-8", "replace")).hexdigest()
