"""Export of a whole system as one FMU: its interface, frozen plan, description and files."""
