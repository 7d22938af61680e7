"""The daemon: the process that owns a data folder and serves it over a socket and HTTP."""
