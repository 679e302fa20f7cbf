"""One self-contained page about a run: what was simulated, what is wrong with it, how it went, what came out."""
