"""The REST surface: memories as resources under `/api/v1`."""
