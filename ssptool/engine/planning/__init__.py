"""Plan of a run: everything resolved, nothing loaded."""
