"""Authentication: Scrubjay's own tokens and those of a trusted issuer become grants; rate limits for both."""
