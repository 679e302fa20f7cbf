"""Master algorithms, one file each: in which order signals are exchanged and instances stepped."""
