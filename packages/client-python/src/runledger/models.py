"""The types of requests and responses, by their names in the OpenAPI document."""

from .generated.models import *
