"""Programs that measure and test devices. Those that print the tables of the pages are in ``docs/tables``."""
