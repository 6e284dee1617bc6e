"""Parts of the bridge and of the service, with what goes wrong: prints the outcome."""

import json
import struct
import sys

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


class Processor:
    started = []

    def __init__(self):
        self.sent = []
        Processor.started.append(self)

    def send(self, frames):
        self.sent.append(frames.decode())

    def run(self, frames, result_kind):
        self.sent.append(bytes(frames).decode())
        return b""

    def end(self):
        self.sent.append("end")


def service_input(start, task):
    head = json.dumps({"version": "1", "resultKind": 2}).encode()
    sections = (head, start, task, b"forget")
    pack = symphony_service.LENGTH.pack
    return symphony_service.MAGIC + b"".join(pack(len(each)) + each for each in sections)


symphony_service.Processor = Processor
symphony_service.check_version = lambda wanted: None
tasks = symphony_service.NodeTasks()
for start, task in ((b"start 1", b"a"), (b"start 1", b"b"), (b"start 2", b"c")):
    tasks.run(service_input(start, task))

failures = [lambda: ValueError("x"), Broken, Unprintable, lambda: "text", fail]
outcome = {
    "failures": [failure(each) for each in failures],
    "processors": [each.sent for each in Processor.started],
}
print(json.dumps(outcome))
