"""Observability: telemetry as metrics for Prometheus and as traces for OpenTelemetry."""
