"""The `scrubjay` command: the MCP bridge, which starts in milliseconds, or the command line."""

import gc
import os
import sys

_INTERRUPTED = 130
_CLOSED = 1
_STDOUT = 1


def main() -> None:
    """Run the bridge or the command line."""
    try:
        try:
            _run()
        finally:
            # At the end of the process it is too late to catch an error. There is none if it was started without.
            if sys.stdout is not None:
                sys.stdout.flush()
    except KeyboardInterrupt:
        # While something is loaded; later, a command says what it leaves.
        sys.exit(_INTERRUPTED)
    except BrokenPipeError:
        if not _is_output_closed():
            raise
        # The reader has enough, as `head` does. Python writes the rest once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), _STDOUT)
        sys.exit(_CLOSED)


def _is_output_closed() -> bool:
    """Check whether the output has no reader any more; the pipe may be another."""
    import select  # noqa: PLC0415

    poll = select.poll()
    poll.register(_STDOUT, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def _run() -> None:
    """Run the bridge for `scrubjay mcp` without loading the rest; else run the command line."""
    if sys.argv[-1:] == ["--help"]:
        from scrubjay.surfaces.cli.help import print_help  # noqa: PLC0415

        if (code := print_help(sys.argv[1:])) is not None:
            sys.exit(code)
    if sys.argv[1:2] == ["mcp"] and "--help" not in sys.argv:
        from scrubjay.surfaces.mcp import bridge  # noqa: PLC0415

        sys.exit(bridge.main(sys.argv[2:]))
    # A daemon carries out most commands, and then none of the packages of the command line is loaded.
    from scrubjay.surfaces.cli.by_daemon import run_by_daemon  # noqa: PLC0415

    if (code := run_by_daemon(sys.argv[1:])) is not None:
        sys.exit(code)
    if sys.argv[1:2] == ["serve"] and "--help" not in sys.argv:
        # What a daemon loads stays; looking for garbage among it takes a tenth of its start. `run_daemon` turns it on.
        gc.disable()
        from scrubjay.surfaces.cli.serving import serve_plainly  # noqa: PLC0415

        if (code := serve_plainly(sys.argv[2:])) is not None:
            sys.exit(code)
    from scrubjay.surfaces.cli.main import main as run_command_line  # noqa: PLC0415

    run_command_line()


if __name__ == "__main__":
    main()
