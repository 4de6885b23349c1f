import os
from pathlib import Path

# Fetched for a machine once, and checked, before the code begins.
words = Path(os.environ["RUNLEDGER_MODELS"], "words.txt").read_text().split()


def predict(place: int = 0):
    return words[place]
