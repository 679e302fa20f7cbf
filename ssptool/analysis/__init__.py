"""Questions about a system at one instant: linear models, modes, steady states."""
