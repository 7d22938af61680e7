"""The write path: small stages over one immutable draft."""
