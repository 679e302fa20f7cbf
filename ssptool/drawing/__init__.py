"""Networks and traces as pictures and text: functions that take values and return a file or a string."""
