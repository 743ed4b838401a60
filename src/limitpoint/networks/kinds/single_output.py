"""Networks with one output: what they ask of a task."""

from limitpoint.errors import NetworkError
from limitpoint.tasks import Task

__all__ = ["feature_shape"]


def feature_shape(task: Task, network: str) -> tuple[int]:
    """The shape (n,) of a layer with one entry per feature, if the task has a single output."""
    if task.n_outputs is not None:
        raise NetworkError(
            f"a {network} network has one output; y has shape {task.y.shape}. "
            "Pass y as a vector of shape (m,)"
        )
    return (task.n_features,)
