"""Event mode and clocks of FMI 3.0 co-simulation."""
