"""A model that gives one text in pieces, without a schema."""

from cog import BasePredictor, ConcatenateIterator


class Predictor(BasePredictor):
    def predict(self, count: int = 3) -> ConcatenateIterator[str]:
        for number in range(count):
            yield f"w{number} "
