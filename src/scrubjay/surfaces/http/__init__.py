"""HTTP shared by all routes: the server, the middleware before every route, request bodies and error responses."""
