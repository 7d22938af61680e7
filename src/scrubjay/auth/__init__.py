"""Who may enter: tokens of our own and of a trusted issuer become grants."""
