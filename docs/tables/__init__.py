"""Programs that print the tables of the pages, run from a checkout: ``python -m docs.tables.NAME``."""
