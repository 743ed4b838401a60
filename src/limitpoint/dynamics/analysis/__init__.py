"""What is read off a trajectory: conserved quantities, singular values, the null-space part."""
