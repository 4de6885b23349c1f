"""A model whose first prediction goes on until it is cancelled."""

import time

from cog import BasePredictor


class Predictor(BasePredictor):
    def setup(self) -> None:
        self.predictions = 0

    def predict(self) -> str:
        self.predictions += 1
        while self.predictions == 1:
            print("step 1/2", flush=True)
            time.sleep(0.2)
        return f"prediction {self.predictions}"
