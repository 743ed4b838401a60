"""Whether a saddle is what it says: residuals, uniqueness, a bound on its error."""
