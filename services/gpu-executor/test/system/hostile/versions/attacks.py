"""What a version tries while its packages are installed, and while it runs. Each try is reported: with the error that held it, or as breached."""

import glob
import os
import shutil
import socket
import subprocess
import sys


def tried(attack):
    try:
        found = attack()
    except Exception as error:
        return type(error).__name__
    return "held" if found is False else "breached"


def on_files(paths):
    """Of each file: change it, its mode and its name, put another one beside it, and remove it."""
    report = {}
    for path in paths:
        beside = os.path.join(os.path.dirname(path), "beside")
        report[f"write {path}"] = tried(lambda: open(path, "r+"))
        report[f"chmod {path}"] = tried(lambda: os.chmod(path, 0o777))
        report[f"rename {path}"] = tried(lambda: os.rename(path, beside))
        report[f"beside {path}"] = tried(lambda: open(beside, "x"))
        report[f"remove {path}"] = tried(lambda: os.remove(path))
    return report


def has_password():
    """The executor has one in its environment, and so may its other programs."""
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            with open(path, errors="replace") as file:
                if "breached: a password" in file.read():
                    return True
        except OSError:
            pass
    return "breached: a password" in os.environ.values()


def plant(environment, targets):
    """What whoever takes the folder over might follow, or keep."""
    os.symlink(targets["tool"], os.path.join(environment, "bin/leak"))
    for n, path in enumerate(targets["files"]):
        os.symlink(path, os.path.join(environment, f"file-{n}"))
        os.symlink(os.path.dirname(path), os.path.join(environment, f"folder-{n}"))
    as_owner = os.path.join(environment, "bin/as-owner")
    shutil.copy("/bin/sh", as_owner)
    os.chmod(as_owner, 0o6777)


def leave_a_process(mark):
    """It is in a session of its own, and its parent ends at once."""
    nothing = subprocess.DEVNULL
    sleep = [sys.executable, "-c", "import time; time.sleep(600)", mark]
    subprocess.Popen(["/bin/sh", "-c", '"$@" &', "sh", *sleep], start_new_session=True, stdin=nothing, stdout=nothing, stderr=nothing)


def while_installing(targets):
    environment = os.environ["ENVIRONMENT"]
    report = on_files(targets["files"])
    for path in [*targets["files"], targets["secret"]]:
        report[f"read {path}"] = tried(lambda: open(path).read())
    for n, path in enumerate(targets["files"]):
        report[f"link {path}"] = tried(lambda: os.link(path, os.path.join(environment, f"linked-{n}")))
    # The way to its own folder is there.
    for path in targets["folders"]:
        report[f"list {path}"] = tried(lambda: any(name in targets["hidden"] for name in os.listdir(path)))
    report["password"] = tried(has_password)
    report["environment of the executor"] = tried(lambda: open(f"/proc/{targets['executor']}/environ").read())
    report["loopback"] = tried(lambda: socket.create_connection(("127.0.0.1", targets["port"]), 2))
    plant(environment, targets)
    leave_a_process(targets["mark"])
    return report


def installing():
    """What became of it, as `backend.py` has added it to this file."""
    return REPORT  # noqa: F821
