"""A service of IBM Spectrum Symphony that runs the tasks of `scaler_symphony_cluster`.

Tasks of Python clients are the pickled tuple of function and arguments, as for the services that
users of Python Scaler have. Tasks of Node clients are frames for a processor, a process of Node
that stays next to this one. The package scaler-ts must be installed around this file, in the same
version as for the workers; SCALER_SERVICE_NODE is the Node to use (`node`).

Input:  MAGIC, length (4 bytes, little-endian) and JSON, and three sections, each with a length
        before it: frames for a new processor, frames of the task, and frames that make a processor
        forget all objects.
Output: FRAMES and the frames that the processor has written for the task, up to its result; or
        ENDED and JSON: how the processor has ended.
"""

import array
import contextlib
import fcntl
import json
import os
import signal
import socket
import struct
import sys
import threading
import time

import soamapi

MAGIC = b"scaler-ts\n"
LENGTH = struct.Struct("<I")
FRAMES = b"\0"
ENDED = b"\1"

# The descriptors of a processor, and how its frames begin: length and kind.
INBOX, LIFELINE, OUTBOX, STDERR = 3, 4, 5, 2
HEADER = struct.Struct("<IB")
MESSAGE = 0
# Where the kind of a message is in it.
KIND = struct.Struct("<16xH")

# After tasks with so many bytes, a processor forgets all objects.
MAX_OBJECT_BYTES = 256 * 1024 * 1024

STDERR_TAIL_BYTES = 4096

# A task that exceeds its time limit has failed for its client. So that it does not hold this
# instance, its processor is killed after this time, in seconds.
GRACE = 1

# A processor whose lifeline is closed ends within this time, in seconds, unless it is stopped.
PATIENCE = 2

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Message(soamapi.Message):
    """An input or output."""

    def __init__(self, payload=b""):
        self.__payload = payload

    def get_payload(self):
        return self.__payload

    def on_serialize(self, stream):
        payload = array.array("b")
        payload.frombytes(self.__payload)
        stream.write_byte_array(payload, 0, len(payload))

    def on_deserialize(self, stream):
        self.__payload = memoryview(stream.read_byte_array("b")).tobytes()


class ProcessorEnded(Exception):
    pass


class Processor:
    """A process of Node that runs functions, one at a time."""

    def __init__(self):
        node = os.environ.get("SCALER_SERVICE_NODE", "node")
        program = os.path.join(PACKAGE, "dist", "worker", "processor-main.cjs")
        with contextlib.ExitStack() as theirs:
            ours, actions = [], []
            try:
                for number in (INBOX, LIFELINE, OUTBOX, STDERR):
                    end, other = socket.socketpair()
                    theirs.enter_context(other)
                    # Out of the way of the descriptors that they become.
                    copy = fcntl.fcntl(other, fcntl.F_DUPFD_CLOEXEC, 16)
                    theirs.callback(os.close, copy)
                    ours.append(end)
                    actions.append((os.POSIX_SPAWN_DUP2, copy, number))
                # A process group of its own, which it kills when this process ends.
                self.__pid = os.posix_spawnp(
                    node, [node, program], os.environ, file_actions=actions, setpgroup=0
                )
            except OSError as error:
                reason = f"cannot start {node}, see SCALER_SERVICE_NODE: {error}"
                raise RuntimeError(reason) from None
        self.__inbox, self.__lifeline, self.__outbox, stderr = ours
        self.__reader = self.__outbox.makefile("rb")
        self.__stderr_tail = b""
        self.__copier = threading.Thread(target=self.__copy, args=(stderr,), daemon=True)
        self.__copier.start()

    def run(self, frames, head):
        """Sends frames of one task. Returns all that the processor writes, up to the result."""
        seconds = head["timeoutMs"] / 1000
        timer = threading.Timer(seconds + GRACE, os.killpg, (self.__pid, signal.SIGKILL))
        timer.daemon = True
        if 0 < seconds < threading.TIMEOUT_MAX - GRACE:
            timer.start()
        try:
            self.__inbox.sendall(frames)
            return self.__result(head["resultKind"])
        except OSError:
            raise ProcessorEnded from None
        finally:
            timer.cancel()

    def __result(self, result_kind):
        answer = []
        while True:
            header = self.__read(HEADER.size)
            size, kind = HEADER.unpack(header)
            content = self.__read(size)
            answer += (header, content)
            is_message = kind == MESSAGE and size >= KIND.size
            if is_message and KIND.unpack_from(content)[0] == result_kind:
                return b"".join(answer)

    def send(self, frames):
        try:
            self.__inbox.sendall(frames)
        except OSError:
            # The next task shows it.
            pass

    def end(self):
        """Waits for a processor that has ended, or makes it end. Returns how."""
        for end in (self.__inbox, self.__lifeline, self.__outbox):
            end.close()
        self.__reader.close()
        code = os.waitstatus_to_exitcode(self.__wait())
        self.__copier.join(1)
        death = {"exitCode": code} if code >= 0 else {"signal": -code}
        return {**death, "stderr": self.__stderr_tail.decode(errors="replace")}

    def __wait(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            pid, status = os.waitpid(self.__pid, os.WNOHANG)
            if pid != 0:
                return status
            time.sleep(0.01)
        os.killpg(self.__pid, signal.SIGKILL)
        return os.waitpid(self.__pid, 0)[1]

    def __read(self, size):
        content = self.__reader.read(size)
        if len(content) < size:
            raise ProcessorEnded
        return content

    def __copy(self, stderr):
        """What it writes to stderr is also in the log of this service."""
        with stderr:
            for chunk in iter(lambda: stderr.recv(65536), b""):
                self.__stderr_tail = (self.__stderr_tail + chunk)[-STDERR_TAIL_BYTES:]
                sys.stderr.buffer.write(chunk)
                sys.stderr.flush()


def sections_of(payload):
    """The JSON and the three sections of an input."""
    view = memoryview(payload)
    at = len(MAGIC)
    found = []
    while at < len(view):
        (size,) = LENGTH.unpack_from(view, at)
        at += LENGTH.size
        found.append(view[at : at + size])
        at += size
    head, start, task, forget = found
    return json.loads(bytes(head)), start, task, forget


class NodeTasks:
    """Runs tasks of Node clients."""

    def __init__(self):
        self.__processor = None
        self.__start = b""
        self.__bytes = 0

    def run(self, payload):
        head, start, task, forget = sections_of(payload)
        check_version(head["version"])
        # Clients in tasks connect to the scheduler that is named there.
        if bytes(start) != self.__start:
            self.close()
        try:
            if self.__processor is None:
                self.__processor = Processor()
                self.__start = bytes(start)
                self.__processor.send(self.__start)
                self.__bytes = 0
            elif self.__bytes > MAX_OBJECT_BYTES:
                self.__processor.send(forget)
                self.__bytes = 0
            self.__bytes += len(task)
            return FRAMES + self.__processor.run(task, head)
        except ProcessorEnded:
            return ENDED + json.dumps(self.close()).encode()

    def close(self):
        processor, self.__processor = self.__processor, None
        return None if processor is None else processor.end()


def check_version(wanted):
    with open(os.path.join(PACKAGE, "package.json"), encoding="utf-8") as file:
        version = json.load(file)["version"]
    if version != wanted:
        raise RuntimeError(f"scaler-ts {version} is installed here, but the workers have {wanted}")


def run_python(payload):
    import cloudpickle

    function, *arguments = cloudpickle.loads(payload)
    return cloudpickle.dumps(function(*arguments))


class ServiceContainer(soamapi.ServiceContainer):
    def on_create_service(self, service_context):
        self.__node = NodeTasks()

    def on_session_enter(self, session_context):
        return

    def on_invoke(self, task_context):
        task_input = Message()
        task_context.populate_task_input(task_input)
        payload = task_input.get_payload()
        run = self.__node.run if payload.startswith(MAGIC) else run_python
        task_context.set_task_output(Message(run(payload)))

    def on_session_leave(self):
        self.__node.close()

    def on_destroy_service(self):
        self.__node.close()


if __name__ == "__main__":
    ServiceContainer().run()
