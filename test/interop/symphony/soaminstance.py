"""Processes that run services for the stand-in soamapi.py, and the frames between both."""

import os
import socket
import struct
import subprocess
import sys

HEADER = struct.Struct("<IB")
INVOKE, OUTPUT, FAILURE = range(3)


def write(file, kind, content):
    file.write(HEADER.pack(len(content), kind) + content)
    file.flush()


def read(file):
    header = file.read(HEADER.size)
    if len(header) < HEADER.size:
        raise EOFError
    size, kind = HEADER.unpack(header)
    content = file.read(size)
    if len(content) < size:
        raise EOFError
    return kind, content


class SharedInstance:
    """A process of a service that runs anyway."""

    def __init__(self, path):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(path)
        self.input, self.output = connection.makefile("wb"), connection.makefile("rb")

    def end(self):
        return "it is gone"


class OwnInstance:
    """A process of a service, in a group of its own, because services run on other hosts."""

    def __init__(self, service):
        folder = os.path.dirname(os.path.abspath(__file__))
        paths = [folder, os.environ.get("PYTHONPATH", "")]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
        start = [] if service.get("isProgram", False) else ["-m", "soamapi"]
        command = [sys.executable, *start, service["file"]]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, env=env, start_new_session=True
        )
        self.input, self.output = self.process.stdin, self.process.stdout

    def end(self):
        return self.process.wait()
