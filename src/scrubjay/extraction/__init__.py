"""What a conversation says that is worth keeping."""
