import os

token = os.environ["A_TOKEN"]


def measure():
    return f"The token has {len(token)} characters."
