"""What is done with recorded traces: compared, judged and shown."""
