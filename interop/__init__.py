"""Tests of Scrubjay with third-party clients and test suites: `make interop`."""
