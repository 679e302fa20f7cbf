"""Pictures and text of networks and of traces: values in, a file or a string out."""
