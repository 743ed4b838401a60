"""The mirror map of diagonal networks of three layers and more."""
