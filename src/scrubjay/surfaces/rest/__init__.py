"""The memory over HTTP, as resources: `/api/v1`."""
