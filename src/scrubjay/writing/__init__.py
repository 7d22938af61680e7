"""The write path: small stages over one immutable draft, and the other verbs that write."""
