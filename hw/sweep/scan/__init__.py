"""The proof of a sweep: rounds in which lanes compare a choice with all candidates between its neighbours' choices.

These candidates are the *bracket* of a state. A *scan* is what one lane does in a round: it streams the candidates of
brackets through its evaluator.
"""
