"""Which tests test which theorem; a test checks that this is complete and true."""

__all__ = ["TESTS"]

TESTS: dict[str, tuple[str, ...]] = {}
