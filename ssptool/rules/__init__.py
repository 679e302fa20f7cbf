"""The catalogue of semantic rules, and the report of what they find.

A rule is a generator over one kind of element; it knows neither how findings are stamped nor how they are shown.
Start with `report.check_path`.
"""
