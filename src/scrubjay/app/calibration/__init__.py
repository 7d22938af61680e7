"""Calibration of an embedding model with labelled data: the weight of its cosine, and the threshold of equality."""
