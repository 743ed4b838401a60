"""The theorems of the atlas: one module for each paper, and those that no paper states."""
