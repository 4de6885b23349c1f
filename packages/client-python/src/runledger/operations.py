"""
The operations of the run API. A function checks and sends nothing: `client.call(operations.list_machines())` does, and
`client.each` gives the items of all pages.
"""

from .generated.operations import *
