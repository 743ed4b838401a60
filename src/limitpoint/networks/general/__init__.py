"""Networks whose coefficients are any smooth functions of blocks of parameters."""
