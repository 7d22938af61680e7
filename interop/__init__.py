"""Scrubjay tried with the clients and suites of others: `make interop`."""
