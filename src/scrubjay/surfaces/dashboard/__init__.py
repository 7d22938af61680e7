"""The dashboard: pages for people at `/`, rendered on the server; each is a view over the verbs."""
