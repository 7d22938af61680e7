"""Export and import as JSON Lines with every version, relation and time; and migration from one store to another."""
