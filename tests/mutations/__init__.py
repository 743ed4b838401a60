"""A mutation test for every check of `verify`: break what it checks, and see it fail."""
