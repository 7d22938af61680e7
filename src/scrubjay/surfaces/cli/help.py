"""Help from a table that `make docs` writes, so that `--help` does not load the packages of the command line."""

import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

PAGES = Path(__file__).with_name("help.json")
COLUMNS = 80
"""The width of the pages. Help is no wider than this; on a narrower terminal the command line lays it out."""
_HELP = "--help"


def print_help(arguments: Sequence[str]) -> int | None:
    """Print the help of a command and return the exit code; None: the command line must do it."""
    if arguments[-1:] != [_HELP] or shutil.get_terminal_size().columns < COLUMNS:
        return None
    try:
        page = json.loads(PAGES.read_bytes()).get(" ".join(arguments[:-1]))
        if page is None:
            return None
        sys.stdout.write(page)
        sys.stdout.flush()
    except (OSError, ValueError):
        # Without the table, or with a terminal that cannot show a character of the page.
        return None
    return 0
