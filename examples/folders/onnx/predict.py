from pathlib import Path

import numpy
import onnxruntime

session = onnxruntime.InferenceSession(
    Path(__file__).with_name("sum.onnx"), providers=["CPUExecutionProvider"]
)


def predict(a: float, b: float):
    inputs = {"a": numpy.float32([a]), "b": numpy.float32([b])}
    (total,) = session.run(None, inputs)
    return f"{total[0]:g}"
