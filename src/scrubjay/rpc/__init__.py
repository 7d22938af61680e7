"""What a client and a daemon say to each other: the engine's verbs as lines of JSON."""
