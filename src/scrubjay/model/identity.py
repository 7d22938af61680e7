"""Ids: UUIDv7, so that they sort by creation time."""

import os
import threading
import time
import uuid

_lock = threading.Lock()
_last = 0


def new_id() -> str:
    """Return a UUIDv7 that sorts after every earlier one of this process."""
    # Sliced, because a UUID object costs more than the number.
    digits = f"{_next_number():032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def is_id(text: str) -> bool:
    """Return whether a reference has the form of an id."""
    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False


def _next_number() -> int:
    # 48 bits of milliseconds, version, 74 random bits. Within one millisecond, and when the clock steps
    # back, the next id is the last one plus a random stride: still unique, still in order.
    global _last
    random = int.from_bytes(os.urandom(10), "big")
    fresh = (time.time_ns() // 1_000_000) << 80 | 0x7 << 76 | (random >> 68 & 0xFFF) << 64
    fresh |= 0b10 << 62 | random & (1 << 62) - 1
    with _lock:
        if fresh <= _last:
            fresh = _step(_last, random & 0xFFFF_FFFF)
        _last = fresh
        return fresh


def _step(last: int, stride: int) -> int:
    tail = (last & (1 << 62) - 1) + 1 + stride
    if tail < 1 << 62:
        return last & ~((1 << 62) - 1) | tail
    # The random tail is used up: advance one millisecond and start a new tail.
    head = ((last >> 80) + 1) << 80 | 0x7 << 76 | 0b10 << 62
    return head | stride
