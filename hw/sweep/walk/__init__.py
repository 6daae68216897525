"""The local search of a lane, second pass of a sweep: many searches share one evaluator.

Names in the code: ``walk`` is the pass, ``walker`` one of its searches, and ``ring`` the loop of registers through
which the searches circulate; ``context`` is the number of a search. In its *turn*, once in a loop, a search evaluates
one candidate; clock 0 of the turn is the one in which it leaves the ring.
"""
