"""Adds Scrubjay to the configuration files of MCP clients, and to the services that start at login."""
