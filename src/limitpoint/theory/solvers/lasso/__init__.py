"""The lasso with sign constraints, solved and certified at any weight of the penalty."""
