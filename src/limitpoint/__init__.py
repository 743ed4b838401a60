"""Which solution does a linear neural network reach, and by which path?

`predict` answers without training, `flow` and `train` simulate, `verify` certifies that the two
agree. Names are loaded on first use; `__init__.pyi` says where each comes from.
"""

import lazy_loader as _lazy

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
