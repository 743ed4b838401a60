"""Models of the user's own: their structure found, and put as a problem of this library."""

from limitpoint.own.functions import from_function
from limitpoint.own.model import Model
from limitpoint.own.recognise import Recognised, recognise

__all__ = ["Model", "Recognised", "from_function", "recognise"]
