"""Numbers of a few hundred problems, stored; and whether they are the same to the last bit."""
