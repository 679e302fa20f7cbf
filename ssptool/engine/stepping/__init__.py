"""Simulations that a program controls step by step."""
