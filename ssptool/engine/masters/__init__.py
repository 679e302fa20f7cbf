"""Master algorithms, one file each. A master decides the order of exchanges and steps."""
