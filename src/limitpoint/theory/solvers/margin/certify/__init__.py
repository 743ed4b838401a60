"""Whether a direction solves its margin problem: residuals, uniqueness, accuracy."""
