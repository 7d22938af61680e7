"""`scrubjay mcp`: joins an agent's standard input and output to the daemon's socket.

An agent waits for this process to start, so it and all it imports are the standard library, and of that the quick
part: no asyncio, no argparse, no dataclasses.
"""

import os
import socket
from collections.abc import Sequence

from scrubjay.surfaces.mcp.bridge.daemon import say
from scrubjay.surfaces.mcp.bridge.options import WrongOption, read_options
from scrubjay.surfaces.mcp.bridge.session import Session

# As a shell has them: a wrong command line, a service that is not there, a stream that fails, an interrupt.
_USAGE, _UNAVAILABLE, _BROKEN, _INTERRUPTED = 2, 69, 74, 130
_HTTP = "http://127.0.0.1:7272/mcp"


def main(arguments: Sequence[str]) -> int:
    """Copy lines between the client and the daemon until the client leaves; returns the exit code."""
    try:
        options = read_options(arguments)
        os.fstat(0)
        os.fstat(1)
    except WrongOption as error:
        say(str(error))
        return _USAGE
    except OSError:
        say("mcp needs a standard input and output: it is started by an MCP client, not by hand")
        return _USAGE
    if not hasattr(socket, "AF_UNIX"):
        say(f"this system has no Unix sockets: run `scrubjay serve`, and give the MCP client its address {_HTTP}")
        return _UNAVAILABLE
    try:
        return 0 if Session(options).run() else _UNAVAILABLE
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        return 0  # The client is gone, and nobody is left to be told.
    except OSError as error:
        say(f"standard input or output cannot be used: {error}")
        return _BROKEN
