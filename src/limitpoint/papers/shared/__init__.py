"""What the experiments of several papers use."""
