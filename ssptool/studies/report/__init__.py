"""One self-contained page about a study: what was varied, how the runs ended, what came out, what was fitted."""
