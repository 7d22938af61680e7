"""Trains the encoder and the static table from public data and from the project's own facts. See training/README.md."""
