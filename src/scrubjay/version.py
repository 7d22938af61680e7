"""The version of this package, and of the protocol between its clients and daemons."""

VERSION = "0.1.0"
# Raise it when an old client and a new daemon, or the reverse, could misunderstand each other: a new field, a new
# meaning, or a new default, since default values are not sent.
PROTOCOL = 2
