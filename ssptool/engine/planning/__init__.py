"""Plan of a run: all decisions and names are resolved, but no FMU is loaded."""
