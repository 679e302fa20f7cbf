"""A simulation that a program steps: its rows, its values by name, the changes to them, and what is saved."""
