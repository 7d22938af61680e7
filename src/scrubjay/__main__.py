"""The `scrubjay` command: the MCP bridge, which starts in milliseconds, or the command line."""

import sys


def main() -> None:
    """Run the bridge for `scrubjay mcp` without loading the rest; else run the command line."""
    if sys.argv[1:2] == ["mcp"] and "--help" not in sys.argv:
        from scrubjay.surfaces.mcp import bridge  # noqa: PLC0415

        sys.exit(bridge.main(sys.argv[2:]))
    from scrubjay.surfaces.cli.main import main as run_command_line  # noqa: PLC0415

    run_command_line()


if __name__ == "__main__":
    main()
