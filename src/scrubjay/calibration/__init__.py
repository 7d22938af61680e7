"""Finds from labelled data what a model's cosine is worth, and above which one two texts say the same."""
