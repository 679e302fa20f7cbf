"""Runs in a child process, with limits of time and memory."""
