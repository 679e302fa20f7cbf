"""Edits of systems: each function edits documents in place, changes as little as possible, and reports its changes."""
