"""The command line, ``beltline``."""
