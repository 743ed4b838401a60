"""Side-by-side ratios against named peers, measured in one run."""
