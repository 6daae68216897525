"""Problems: tables and what is checked of them, utility, grids, Markov chains."""
