"""Language models, optional: the only place that knows their SDK."""
