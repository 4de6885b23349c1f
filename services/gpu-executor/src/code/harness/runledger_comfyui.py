"""Starts the ComfyUI of the machine for one version, with its custom nodes and models, and lets the executor reach it at a socket file.

The one argument is JSON: {"folder": of ComfyUI, "nodes": {name: folder}, "models": folder or null, "args": [...]}.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading

SOCKET = "comfyui.sock"
CHUNK = 64 * 1024


def main():
    given = json.loads(sys.argv[1])
    base = os.path.join(os.environ["TMPDIR"], "comfyui")
    prepare(base, given["nodes"], given["models"])
    port = free_port()
    server = subprocess.Popen(
        [sys.executable, "main.py", "--listen", "127.0.0.1", "--port", str(port)]
        + ["--base-directory", base, "--disable-auto-launch"]
        + options_of(given["folder"])
        + given["args"],
        cwd=given["folder"],
        stdin=subprocess.DEVNULL,
    )
    signal.signal(signal.SIGTERM, lambda *_: server.terminate())
    threading.Thread(target=listen, args=(port,), daemon=True).start()
    code = server.wait()
    sys.exit(code if code >= 0 else 128 - code)


def prepare(base, nodes, models):
    """Nodes are copied: many write into their own folders. Models are not: a link is as good."""
    for name in ("custom_nodes", "models", "input", "output", "temp", "user"):
        os.makedirs(os.path.join(base, name))
    for name, folder in nodes.items():
        shutil.copytree(folder, os.path.join(base, "custom_nodes", name), symlinks=True)
    for folder, _, files in os.walk(models) if models else ():
        below = os.path.join(base, "models", os.path.relpath(folder, models))
        os.makedirs(below, exist_ok=True)
        for name in files:
            os.symlink(os.path.realpath(os.path.join(folder, name)), os.path.join(below, name))


def options_of(folder):
    """What not every ComfyUI knows. Its database is in its own folder otherwise, which nobody may write."""
    try:
        with open(os.path.join(folder, "comfy", "cli_args.py"), encoding="utf-8") as file:
            known = file.read()
    except OSError:
        return []
    return ["--database-url", "sqlite:///:memory:"] if '"--database-url"' in known else []


def free_port():
    """With a network of its own nobody else takes it; elsewhere ComfyUI ends when somebody does, and is started again."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listen(port):
    """The path of a socket is short: it is bound by its name."""
    os.chdir(os.environ["TMPDIR"])
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(SOCKET)
        listener.listen(128)
        while True:
            client, _ = listener.accept()
            threading.Thread(target=connect, args=(client, port), daemon=True).start()


def connect(client, port):
    with client:
        try:
            server = socket.create_connection(("127.0.0.1", port))
        except OSError:
            # It does not listen yet.
            return
        with server:
            back = threading.Thread(target=relay, args=(server, client), daemon=True)
            back.start()
            relay(client, server)
            back.join()


def relay(source, target):
    try:
        while True:
            data = source.recv(CHUNK)
            if not data:
                break
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        # Neither side has anything more to say.
        for each in (source, target):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


if __name__ == "__main__":
    main()
