"""What the solvers answered before they were rewritten, and a command that compares: ``python -m tests.yardstick``.

``record`` solves 300 seeded problems of all kinds (:mod:`~tests.yardstick.problems`) with ``bl.solve`` and writes
``cpu.npz`` and ``emulator.npz`` beside this file: value in full, choice and alternative of every state, error bound,
residual, status, sweeps, and CPU time in units of a fixed loop that is timed right before. ``compare`` solves them
again, prints a table by kind and every violation, and exits with 1 if there is one:

- the value differs by more than both error bounds together;
- a choice differs and is worse, at the recorded value and by an objective computed here in plain NumPy
  (:mod:`~tests.yardstick.objective`), by more than twice both bounds together: more is no tie within them;
- an error bound is more than twice the recorded one, rounding apart; a solve fails that did not, or otherwise;
- a kind takes more than 1.2 times the CPU time by its median, or one problem of 5 ms or more takes 3 times.

On a computer with a GPU, ``record --device gpu --to FOLDER`` writes ``gpu.npz``; copy it here. Times compare between
records of one computer only; elsewhere give ``--no-time``.

``files/`` holds results, solutions of models, a checkpoint and a store that :mod:`~tests.yardstick.saved` wrote, and
``files.json`` what is in them; ``tests/host/results/test_saved_files.py`` loads them all.
"""
