"""Networks that are linear in each of their layers, given by a tensor of the data."""
