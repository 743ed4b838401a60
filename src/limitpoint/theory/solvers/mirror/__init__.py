"""The dual problem `XΨ(Xᵀν) = y` of every network with a mirror map."""
