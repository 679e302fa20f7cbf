"""Solvers of algebraic loops x = g(x): one file each, all with `solve(g, x0, domain) -> Solution`."""
