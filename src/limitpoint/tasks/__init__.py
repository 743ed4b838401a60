"""The data and the loss."""

from limitpoint.tasks.classification import Classification
from limitpoint.tasks.matrix_sensing import MatrixSensing
from limitpoint.tasks.regression import Regression
from limitpoint.tasks.separation import Separation
from limitpoint.tasks.task import LARGEST, SMALLEST, Task, as_task

__all__ = [
    "LARGEST",
    "SMALLEST",
    "Classification",
    "MatrixSensing",
    "Regression",
    "Separation",
    "Task",
    "as_task",
]
