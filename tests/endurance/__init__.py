"""Long runs of faults: damaged files, kills and signals. ``python -m tests.endurance --help`` lists them.

``damage`` damages files of each kind in seeded ways, half of them with the checksums of the format made anew, and reads
them. ``fuzz`` lets Atheris, which follows what code an input reaches, search for files that a reader does not refuse in
one sentence. ``kills`` ends processes that save, solve with a checkpoint or fill a store at random times, by Ctrl-C,
SIGTERM, SIGHUP and SIGKILL, and looks at what is left. Each prints its counts as JSON and exits with 1 if something was
lost, hung, was silently wrong, or ended in an error that is no sentence.
"""
