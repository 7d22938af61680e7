"""Skills: saved procedures, which are memories that can be run."""
