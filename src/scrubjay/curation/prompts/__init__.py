"""What a language model is asked, and what its answer must look like: one module a task."""
