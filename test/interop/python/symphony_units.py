"""Parts of the bridge and of the service, with what goes wrong: prints the outcome."""

import json
import os
import resource
import struct
import sys
import tempfile

sys.path.insert(0, sys.argv[1])
import symphony_bridge
import symphony_service


class Broken(Exception):
    def __getattr__(self, name):
        raise OSError(name)

    def __str__(self):
        raise OSError("str")


class Unprintable(Exception):
    def __str__(self):
        raise OSError("str")


def fail():
    raise OSError("get_exception")


def failure(get_exception):
    length, text, content = symphony_bridge.failure_of(get_exception)
    assert struct.unpack("<I", length) == (len(text),)
    text = json.loads(text)
    return [text["name"], text["message"], len(content) > 0]


def without_descriptors():
    """What a processor raises that gets none, and how many are open afterwards that were not."""
    others = [os.dup(0) for _ in range(20)]
    count = len(os.listdir("/dev/fd"))
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (count + 4, limits[1]))
    try:
        symphony_service.Processor()
    except RuntimeError as error:
        text = str(error)
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    left = len(os.listdir("/dev/fd")) - count
    for other in others:
        os.close(other)
    return [text, left]


def stopped():
    """How a processor ends that is stopped."""
    symphony_service.PATIENCE = 0.1
    with tempfile.TemporaryDirectory() as folder:
        node = os.environ["SCALER_SERVICE_NODE"] = os.path.join(folder, "node")
        with open(node, "w") as file:
            file.write("#!/bin/sh\nkill -STOP $$\n")
        os.chmod(node, 0o755)
        return symphony_service.Processor().end()


class Processor:
    started = []

    def __init__(self):
        self.sent = []
        Processor.started.append(self)

    def send(self, frames):
        self.sent.append(frames.decode())

    def run(self, frames, head):
        self.sent.append(bytes(frames).decode())
        return b""

    def end(self):
        self.sent.append("end")


def service_input(start, task):
    head = json.dumps({"version": "1", "resultKind": 2}).encode()
    sections = (head, start, task, b"forget")
    pack = symphony_service.LENGTH.pack
    return symphony_service.MAGIC + b"".join(pack(len(each)) + each for each in sections)


processes = [without_descriptors(), stopped()]
symphony_service.Processor = Processor
symphony_service.check_version = lambda wanted: None
tasks = symphony_service.NodeTasks()
for start, task in ((b"start 1", b"a"), (b"start 1", b"b"), (b"start 2", b"c")):
    tasks.run(service_input(start, task))

failures = [lambda: ValueError("x"), Broken, Unprintable, lambda: "text", fail]
outcome = {
    "failures": [failure(each) for each in failures],
    "processes": processes,
    "processors": [each.sent for each in Processor.started],
}
print(json.dumps(outcome))
