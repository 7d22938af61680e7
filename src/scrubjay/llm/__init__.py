"""The optional language model; the only package that knows its SDK."""
