"""`ssptool mcp`: the public functions as tools of the Model Context Protocol, confined to one folder."""
