"""Carrying out a plan in a child process: the process, what is said to it and by it, and its limits."""
