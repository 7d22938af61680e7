"""The past: versions, their differences, and ways back."""
