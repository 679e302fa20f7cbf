"""What acts on a system from outside while it runs: courses of its inputs, and scenarios."""
