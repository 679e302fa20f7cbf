"""Choices that the user leaves open, the plan that they make, initialization, and steps to the stop time."""
