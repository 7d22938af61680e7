"""Further lines of versions of one memory, and how they come together again."""
