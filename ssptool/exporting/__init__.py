"""Export of a whole system as one FMU: what it offers, its frozen plan, its description and its files."""
