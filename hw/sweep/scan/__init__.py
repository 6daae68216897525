"""The proof of a sweep: brackets of candidates, streamed through a lane's evaluator."""
