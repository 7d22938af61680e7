"""`scrubjay mcp`: connects an agent's standard input and output to the daemon's socket.

An agent waits for this process to start, so it imports only the standard library, and only the quick part of it: no
asyncio, no argparse, no dataclasses.
"""

import os
import socket
from collections.abc import Sequence

from scrubjay.surfaces.mcp.bridge.daemon import print_error
from scrubjay.surfaces.mcp.bridge.options import InvalidOption, read_options
from scrubjay.surfaces.mcp.bridge.session import BridgeSession

# As in sysexits.h: a wrong command line, an unavailable service, a stream that fails; and an interrupt.
_USAGE, _UNAVAILABLE, _IO_ERROR, _INTERRUPTED = 2, 69, 74, 130
_HTTP = "http://127.0.0.1:7272/mcp"


def main(arguments: Sequence[str]) -> int:
    """Copy lines between the client and the daemon until the client leaves; return the exit code."""
    try:
        options = read_options(arguments)
        os.fstat(0)
        os.fstat(1)
    except InvalidOption as error:
        print_error(str(error))
        return _USAGE
    except OSError:
        print_error("mcp needs a standard input and output: an MCP client starts it, not a person")
        return _USAGE
    if not hasattr(socket, "AF_UNIX"):
        print_error(f"this system has no Unix sockets: run `scrubjay serve`, and give the MCP client the URL {_HTTP}")
        return _UNAVAILABLE
    try:
        return 0 if BridgeSession(options).run() else _UNAVAILABLE
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        return 0  # The client is gone.
    except OSError as error:
        print_error(f"standard input or output cannot be used: {error}")
        return _IO_ERROR
