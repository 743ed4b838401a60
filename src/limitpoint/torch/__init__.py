"""PyTorch modules: as problems of this library, with weights put back, and watched in training.

PyTorch is loaded when one of these is first called.
"""

from limitpoint.torch.loading import layers, load, read_module, read_state, read_tensor
from limitpoint.torch.problem import problem
from limitpoint.torch.watch import Watch
from limitpoint.verify.foreign_run import READERS

__all__ = ["Watch", "layers", "load", "problem"]

READERS["torch.nn.modules.module.Module"] = read_module
READERS["torch.Tensor"] = read_tensor
READERS["mapping of torch.Tensor"] = read_state
