"""FMUs of a plan: loaded, instantiated and registered with a kernel."""
