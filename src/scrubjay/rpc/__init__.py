"""Remote procedure calls: clients call the verbs of the engine in a daemon."""
