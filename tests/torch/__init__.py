"""What needs PyTorch: modules as problems."""
