"""`ssptool studio`: a page in the browser that shows a system, and edits it by the verbs of `Editor`."""
