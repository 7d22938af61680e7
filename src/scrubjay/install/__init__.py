"""Puts Scrubjay into what is there already: the configurations of clients, and whatever starts programs at login."""
