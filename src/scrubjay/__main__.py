"""`python -m scrubjay` is the `scrubjay` command."""

from scrubjay.entry import main

if __name__ == "__main__":
    main()
