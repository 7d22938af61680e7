"""The one timeout of waits that only a failing test reaches."""

PATIENCE = 180.0
"""Seconds: long enough for a machine that does much else, since a passing test never waits so long."""
