"""The door that every HTTP request passes, whatever it asks for."""
