"""In the place of ComfyUI's main.py: loads custom nodes from its base folder, and executes prompts of them, with the answers of a real server.

Its options, messages and history are those that were recorded of 0.27 (test/runners/comfyui/recordings), of what runs need.
"""

import argparse
import base64
import hashlib
import importlib.util
import json
import os
import queue
import struct
import sys
import threading
import types
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

parser = argparse.ArgumentParser()
parser.add_argument("--listen")
parser.add_argument("--port", type=int)
parser.add_argument("--base-directory")
parser.add_argument("--disable-auto-launch", action="store_true")
parser.add_argument("--cpu", action="store_true")
options = parser.parse_args()

base = options.base_directory
paths = types.ModuleType("folder_paths")
paths.models_dir = os.path.join(base, "models")
paths.get_output_directory = lambda: os.path.join(base, "output")
paths.get_input_directory = lambda: os.path.join(base, "input")
sys.modules["folder_paths"] = paths

classes = {}
modules = {}
nodes = os.path.join(base, "custom_nodes")
for name in sorted(os.listdir(nodes)):
    spec = importlib.util.spec_from_file_location("node_" + name, os.path.join(nodes, name, "__init__.py"))
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        print(f"Cannot import {name} module for custom nodes: {error}", flush=True)
        continue
    classes.update(module.NODE_CLASS_MAPPINGS)
    modules.update(dict.fromkeys(module.NODE_CLASS_MAPPINGS, "custom_nodes." + name))
print("loaded " + ",".join(sorted(classes)), flush=True)

history = {}
sockets = {}
waiting = queue.Queue()
accepted = []


def tell(client, kind, data):
    text = json.dumps({"type": kind, "data": data}).encode()
    size = bytes([len(text)]) if len(text) < 126 else b"\x7e" + struct.pack(">H", len(text))
    try:
        sockets[client].write(b"\x81" + size + text)
        sockets[client].flush()
    except (KeyError, OSError):
        pass


def work():
    while True:
        body = waiting.get()
        execute(body)
        accepted.remove(body)


def execute(body):
    prompt, id, client = body["prompt"], body["prompt_id"], body["client_id"]
    said, outputs = [], {}

    def message(kind, data):
        whole = {**data, "prompt_id": id, "timestamp": 0}
        said.append([kind, whole])
        tell(client, kind, whole)

    message("execution_start", {})
    message("execution_cached", {"nodes": []})
    status = {"status_str": "success", "completed": True}
    for node, given in prompt.items():
        kind = classes[given["class_type"]]
        tell(client, "executing", {"node": node, "display_node": node, "prompt_id": id})
        inputs = {name: value for name, value in given["inputs"].items() if not name.startswith("runledger_")}
        try:
            outputs[node] = getattr(kind(), kind.FUNCTION)(**inputs)["ui"]
        except Exception as error:
            status = {"status_str": "error", "completed": False}
            about = {"node_id": node, "node_type": given["class_type"], "exception_message": str(error)}
            message("execution_error", {**about, "exception_type": type(error).__name__, "executed": []})
            break
        tell(client, "executed", {"node": node, "display_node": node, "output": outputs[node], "prompt_id": id})
    if status["completed"]:
        message("execution_success", {})
    history[id] = {"prompt": [0, id, prompt, {}, []], "outputs": outputs, "status": {**status, "messages": said}}
    tell(client, "executing", {"node": None, "prompt_id": id})


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, content, status=200):
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        url = urlsplit(self.path)
        _, first, *rest = url.path.split("/")
        query = {name: values[0] for name, values in parse_qs(url.query, keep_blank_values=True).items()}
        if first == "ws":
            return self.accept(query["clientId"])
        if first == "system_stats":
            return self.answer({"system": {"argv": sys.argv}})
        if first == "object_info":
            known = rest[0] in classes
            return self.answer({rest[0]: {"output_node": True, "python_module": modules[rest[0]]}} if known else {})
        if first == "queue":
            pending = [[0, each["prompt_id"], each["prompt"], {}, []] for each in list(accepted)]
            return self.answer({"queue_running": pending[:1], "queue_pending": pending[1:]})
        if first == "history":
            return self.answer({rest[0]: history[rest[0]]} if rest[0] in history else {})
        if first == "view":
            path = os.path.join(base, query["type"], query["subfolder"], query["filename"])
            if not os.path.isfile(path):
                return self.answer(b"", 404)
            with open(path, "rb") as file:
                return self.answer(file.read())
        return self.answer(b"404: Not Found", 404)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/upload/image":
            return self.answer(self.upload(body))
        if self.path == "/prompt":
            given = json.loads(body)
            accepted.append(given)
            waiting.put(given)
            return self.answer({"prompt_id": given["prompt_id"], "number": 0, "node_errors": {}})
        return self.answer(b"")

    def upload(self, body):
        boundary = self.headers["Content-Type"].split("boundary=")[1].encode()
        fields = {}
        for part in body.split(b"--" + boundary)[1:-1]:
            head, content = part.strip(b"\r\n").split(b"\r\n\r\n", 1) if b"\r\n\r\n" in part.strip(b"\r\n") else (part, b"")
            words = head.decode()
            named = words.split('name="')[1].split('"')[0]
            fields[named] = content
            if "filename=" in words:
                fields["filename"] = words.split('filename="')[1].split('"')[0]
        folder = fields.get("subfolder", b"").decode()
        os.makedirs(os.path.join(base, "input", folder), exist_ok=True)
        with open(os.path.join(base, "input", folder, fields["filename"]), "wb") as file:
            file.write(fields["image"])
        return {"name": fields["filename"], "subfolder": folder, "type": "input"}

    def accept(self, client):
        guid = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        key = hashlib.sha1(self.headers["Sec-WebSocket-Key"].encode() + guid).digest()
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(key).decode())
        self.end_headers()
        sockets[client] = self.wfile
        tell(client, "status", {"status": {"exec_info": {"queue_remaining": 0}}, "sid": client})
        while self.rfile.read(1):
            pass
        self.close_connection = True


threading.Thread(target=work, daemon=True).start()
ThreadingHTTPServer((options.listen, options.port), Handler).serve_forever()
