"""Conflicts between memories: listed, scanned for, and resolved by strategies."""
