"""MCP: the memory as tools, resources and prompts, in both revisions of the protocol."""
