"""Changes to systems: each function edits documents in place, touches only what it must, and says what it did."""
