"""`ssptool studio`: show a system in the browser, and edit it with the verbs of `Editor`."""
