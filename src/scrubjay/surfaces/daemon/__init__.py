"""The daemon: one process that owns a data folder, and that everything else talks to."""
