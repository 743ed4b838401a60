"""How an ODE is integrated: the driver, its steps, and changes of time."""
