"""Export and import as JSON Lines with every version, relation and time; migration, which is one into the other."""
