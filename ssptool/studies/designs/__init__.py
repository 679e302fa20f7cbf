"""Designs: which points are run. One file each."""
