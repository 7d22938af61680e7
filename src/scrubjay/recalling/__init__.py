"""The read path: small stages from a question to an answer that fits its token budget."""
