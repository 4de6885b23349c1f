"""A custom node that paints stripes as a PNG, with nothing but Python."""

import os
import struct
import zlib

import folder_paths


def png(rows):
    """Of rows of grey values, 8 bits each."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 0, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + row for row in rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


class PaintStripes:
    CATEGORY = "image"
    RETURN_TYPES = ()
    FUNCTION = "paint"
    OUTPUT_NODE = True

    @classmethod
    def INPUT_TYPES(cls):
        return {
            "required": {
                "stripes": ("INT", {"default": 4, "min": 1, "max": 64}),
                "size": ("INT", {"default": 64, "min": 1, "max": 1024}),
            }
        }

    def paint(self, stripes, size):
        row = bytes(255 * (column * stripes // size % 2) for column in range(size))
        name = f"stripes_{stripes}.png"
        with open(os.path.join(folder_paths.get_output_directory(), name), "wb") as file:
            file.write(png([row] * size))
        return {"ui": {"images": [{"filename": name, "subfolder": "", "type": "output"}]}}


NODE_CLASS_MAPPINGS = {"PaintStripes": PaintStripes}
