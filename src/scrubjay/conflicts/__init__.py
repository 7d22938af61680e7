"""What is done about memories that do not go together."""
