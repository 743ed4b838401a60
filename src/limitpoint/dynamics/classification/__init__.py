"""The exact flow of a classification, to any margin, and the limit of its direction."""
