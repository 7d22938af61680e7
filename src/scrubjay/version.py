"""The version of this package, and of what its parts say to each other."""

VERSION = "0.1.0"
# Raised when an old client and a new daemon, or the other way round, could misunderstand each other: another field,
# another meaning, or another default, since what is at its default is not sent.
PROTOCOL = 1
