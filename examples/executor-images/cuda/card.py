"""Says which CUDA runtime is in the image, and how many cards it finds. No package is needed."""

import ctypes
import json
import sys

json.load(sys.stdin)
try:
    runtime = ctypes.CDLL("libcudart.so.12")
except OSError as error:
    sys.exit(f"The CUDA runtime is missing in this image: {error}")
version, cards = ctypes.c_int(), ctypes.c_int()
runtime.cudaRuntimeGetVersion(ctypes.byref(version))
runtime.cudaGetErrorString.restype = ctypes.c_char_p
answer = runtime.cudaGetDeviceCount(ctypes.byref(cards))
found = f"{cards.value} cards" if answer == 0 else runtime.cudaGetErrorString(answer).decode()
print(json.dumps({"output": {"text": [f"CUDA {version.value // 1000}.{version.value % 1000 // 10}: {found}"]}}))
