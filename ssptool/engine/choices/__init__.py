"""Choices of a run where the user leaves them open, each with its reason; together they make the plan."""
