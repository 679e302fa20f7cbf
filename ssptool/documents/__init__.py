"""SSP documents as typed XML trees: formats, positions, validation by schema, archives."""
