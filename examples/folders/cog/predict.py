from cog import BasePredictor, Input, Path


class Predictor(BasePredictor):
    def setup(self):
        self.greeting = "Hello"

    def predict(self, name: str, times: int = Input(default=2, ge=1, le=5)) -> Path:
        path = Path("/tmp/greeting.txt")
        path.write_text(f"{self.greeting}, {name}!\n" * times)
        return path
