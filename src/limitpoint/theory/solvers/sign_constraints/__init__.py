"""Best fits whose coefficients keep their signs."""
