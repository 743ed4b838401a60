"""Training as practitioners do it: optimisers, single runs, many runs at once."""
