"""The local search of a lane, second pass of a sweep: many searches share one evaluator.

Names of signals: ``search`` has the registers of one of the searches, ``context`` is its number, and ``ring`` is the
loop of registers through which the searches circulate. In its *turn*, once in a loop, a search evaluates
one candidate; clock 0 of the turn is the one in which it leaves the ring.
"""
