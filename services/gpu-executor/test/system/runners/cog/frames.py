"""A model that gives one file after the other, without a schema."""

import tempfile
from collections.abc import Iterator

from cog import BasePredictor, Path


class Predictor(BasePredictor):
    def predict(self, count: int = 3) -> Iterator[Path]:
        for number in range(count):
            path = Path(tempfile.mkdtemp()) / f"frame-{number}.npz"
            path.write_text(str(number))
            yield path
