"""Paints a text on a picture: one process for each run."""

import json
import os
import sys

from PIL import Image, ImageDraw, ImageFont

run = json.load(sys.stdin)
text = str(run["inputs"].get("text", "")).strip()
if not text:
    sys.exit('The input "text" is missing or empty. Queue the run again with one.')
if len(text) > 40:
    sys.exit(f'The input "text" has {len(text)} characters; a poster has room for 40.')
poster = Image.new("RGB", (640, 360), "#0b4f8a")
draw = ImageDraw.Draw(poster)
draw.text((320, 180), text, fill="#f3f7d4", font=ImageFont.load_default(size=40), anchor="mm")
poster.save(os.path.join(os.environ["RUNLEDGER_OUTPUT_DIR"], "poster.png"))
print(json.dumps({"progress": 1, "live_status": "painted"}))
