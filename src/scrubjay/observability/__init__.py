"""Whoever watches: what telemetry tells, as metrics for Prometheus and as traces for OpenTelemetry."""
