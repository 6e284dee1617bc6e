"""Passes tasks of `scaler_symphony_cluster` to IBM Spectrum Symphony, and their answers back.

Started as `python symphony_bridge.py SERVICE_NAME`, with frames on stdin and stdout: a length (4
bytes, little-endian), a kind (1 byte), and that many bytes. Stdout has START before the first one;
what is before START was printed by something else. It requires Python 3.9 and `soamapi`. It never
looks into tasks or results. Whatever goes wrong with the session ends the process: the worker
starts the next one, and sends the open tasks again.

    to the bridge     TASK     number (8 bytes, little-endian), input of the service
                      PING     nothing; at intervals
    from the bridge   READY    JSON: the ids of connection and session
                      OUTPUT   number, output of the service
                      FAILURE  number, length of JSON (4 bytes), JSON: name, message and stack of
                               the exception; the pickled exception, empty if the service has none
                      LOST     text: why this process ends; Symphony has ended the session
                      REFUSED  text: the same; one of the tasks may be the reason
                      PONG     nothing; answers PING, whatever the library does meanwhile
"""

import array
import json
import os
import pickle
import queue
import struct
import sys
import threading
import time
import traceback

START = b"\0scaler-ts frames\n"
TASK, PING = range(2)
READY, OUTPUT, FAILURE, LOST, REFUSED, PONG = range(6)
HEADER = struct.Struct("<IB")
NUMBER = struct.Struct("<Q")
LENGTH = struct.Struct("<I")

# Exit codes. The worker does not start another bridge after NO_LIBRARY.
SESSION_LOST = 1
NO_LIBRARY = 9

# A call of the library may block for a while, for example if Symphony is short of memory. This is
# reported after the first number of PINGs, and ends the process after the second. PINGs are counted
# instead of time, because there are none while the machine sleeps.
PINGS_UNTIL_WARNING = 6
PINGS_UNTIL_END = 60

# Exceptions that contain others are searched to this depth.
MAX_DEPTH = 16


def fail_to_load(reason):
    print(" ".join(reason.split()), file=sys.stderr)
    sys.exit(NO_LIBRARY)


if sys.version_info < (3, 9):
    fail_to_load(f"Python 3.9 or newer is required, this is {sys.version.split()[0]}")
try:
    import soamapi
except Exception as error:
    fail_to_load(f"{sys.executable} cannot import soamapi, IBM's library for Symphony: {error}")


class Message(soamapi.Message):
    """The input or output of a service, as the services of Python Scaler expect it."""

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


class Frames:
    """Frames to the worker, from any thread."""

    def __init__(self, file):
        self.__file = file
        # At once: without it, this program counts as one that is no bridge.
        self.__file.write(START)
        self.__file.flush()
        self.__lock = threading.Lock()

    def send(self, kind, *pieces):
        with self.__lock:
            self.__file.write(HEADER.pack(sum(map(len, pieces)), kind))
            for piece in pieces:
                self.__file.write(piece)
            self.__file.flush()

    def end(self, kind, reason):
        """Ends the process. Threads of the library may be stuck: they are not waited for."""
        try:
            self.send(kind, reason.encode(errors="replace"))
        finally:
            os._exit(SESSION_LOST)


def embedded_in(exception):
    """The exception of the service, or what is closest to it; and whether it is of the library."""
    for _ in range(MAX_DEPTH):
        try:
            look = getattr(exception, "get_embedded_exception", None)
            if look is None:
                return exception, False
            inner = look()
        except Exception:
            inner = None
        if inner is None or inner is exception:
            break
        exception = inner
    return exception, True


class RemoteError:
    """Pickles an exception so that its traceback is shown as its cause."""

    def __init__(self, exception, stack):
        self.__pieces = (exception, stack)

    def __reduce__(self):
        # multiprocessing.pool is the standard library's, and thereby known to every client.
        from multiprocessing.pool import rebuild_exc

        return rebuild_exc, self.__pieces


def pickled(exception, stack):
    value = RemoteError(exception, stack) if stack else exception
    for value in (value, RuntimeError(text_of(exception))):
        try:
            return pickle.dumps(value, protocol=4)
        except Exception:
            pass
    return b""


def text_of(error):
    try:
        return str(error)
    except BaseException:
        return "<no text>"


def named(error):
    return f"{type(error).__name__}: {text_of(error)}"


def failure_of(get_exception):
    """The pieces of a FAILURE: the length of the text, the text, the pickled exception.

    Whatever the exception is: it must not end the session, which has other tasks.
    """
    try:
        return pieces_of(get_exception())
    except BaseException:
        text = {"name": "Error", "message": "an exception that cannot be read", "stack": ""}
        return pieces(text, b"")


def pieces(text, content):
    text = json.dumps(text).encode()
    return LENGTH.pack(len(text)), text, content


def pieces_of(exception):
    error, is_of_library = embedded_in(exception)
    # What the wrapper of the function (symphony_call.py) has prepared on the host of the task.
    try:
        prepared = getattr(error, "scaler_failure", None)
    except Exception:
        prepared = None
    if isinstance(prepared, tuple) and len(prepared) == 4 and isinstance(prepared[3], bytes):
        name, message, stack, content = prepared
    else:
        name, message, stack = type(error).__name__, text_of(error), ""
        is_exception = isinstance(error, BaseException)
        if is_exception and error.__traceback__ is not None:
            stack = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        content = pickled(error, stack) if is_exception and not is_of_library else b""
    return pieces({"name": str(name), "message": str(message), "stack": str(stack)}, content)


class Call:
    """A call of the library."""

    # Those that have not returned.
    open = set()

    def __init__(self, name):
        self.name = name
        self.pings = 0
        self.started_at = time.monotonic()

    def __enter__(self):
        self.open.add(self)

    def __exit__(self, *_):
        self.open.remove(self)

    @classmethod
    def on_ping(cls, end):
        """Reports calls that block, and finally ends the process."""
        for call in cls.open.copy():
            call.pings += 1
            if call.pings not in (PINGS_UNTIL_WARNING, PINGS_UNTIL_END):
                continue
            seconds = round(time.monotonic() - call.started_at)
            text = f"{call.name} of IBM's library has not returned for {seconds} seconds"
            if call.pings == PINGS_UNTIL_END:
                end(REFUSED, text)
            print(text, file=sys.stderr, flush=True)


class Session(soamapi.SessionCallback):
    """One session, and the tasks in it. The library calls it on threads of its own."""

    def __init__(self, frames):
        self.__frames = frames
        self.__lock = threading.Lock()
        # Numbers of the worker by the ids of Symphony.
        self.__numbers = {}
        # Answers that came before the library has returned the id of their task.
        self.__early = {}
        self.__is_sending = False

    def open(self, service_name):
        soamapi.initialize()
        security = soamapi.DefaultSecurityCallback("Guest", "Guest")
        connection = soamapi.connect(service_name, security)
        attributes = soamapi.SessionCreationAttributes()
        attributes.set_session_type("RecoverableAllHistoricalData")
        attributes.set_session_name("ScalerSession")
        attributes.set_session_flags(soamapi.SessionFlags.PARTIAL_ASYNC)
        attributes.set_session_callback(self)
        self.__session = connection.create_session(attributes)
        # The session may need it.
        self.__connection = connection
        ids = {"connection": str(connection.get_id()), "session": str(self.__session.get_id())}
        self.__frames.send(READY, json.dumps(ids).encode())

    def submit(self, number, payload):
        attributes = soamapi.TaskSubmissionAttributes()
        attributes.set_task_input(Message(payload))
        with self.__lock:
            self.__is_sending = True
        # Without the lock: the library may wait for a callback before it returns.
        with Call("send_task_input"):
            task_id = self.__session.send_task_input(attributes).get_id()
        with self.__lock:
            self.__is_sending = False
            self.__numbers[task_id] = number
            answer = self.__early.get(task_id)
            self.__early.clear()
        if answer is not None:
            self.on_response(answer)

    def on_response(self, task_output_handle):
        try:
            self.__answer(task_output_handle)
        except Exception as error:
            # Without this answer, its task would wait forever.
            self.__frames.end(REFUSED, f"an answer of Symphony could not be read: {named(error)}")

    def on_exception(self, exception):
        error, _ = embedded_in(exception)
        self.__frames.end(LOST, f"Symphony has ended the session: {text_of(error)}")

    def __answer(self, handle):
        task_id = handle.get_id()
        with self.__lock:
            number = self.__numbers.pop(task_id, None)
            if number is None:
                # Early, or a second answer, which is dropped with the next task.
                if self.__is_sending:
                    self.__early[task_id] = handle
                return
        if handle.is_successful():
            output = Message()
            with Call("populate_task_output"):
                handle.populate_task_output(output)
            self.__frames.send(OUTPUT, NUMBER.pack(number), output.get_payload())
        else:
            with Call("get_exception"):
                failure = failure_of(handle.get_exception)
            self.__frames.send(FAILURE, NUMBER.pack(number), *failure)


class Input(threading.Thread):
    """Reads frames from the worker, whatever the library does meanwhile, which may block."""

    def __init__(self, frames, file):
        super().__init__(daemon=True)
        self.__frames = frames
        self.__file = file
        self.__read_ahead = queue.SimpleQueue()

    def next(self):
        """The next task: its number and input."""
        return self.__read_ahead.get()

    def run(self):
        try:
            while True:
                size, kind = HEADER.unpack(self.__read(HEADER.size))
                content = memoryview(self.__read(size))
                if kind == PING:
                    Call.on_ping(self.__frames.end)
                    self.__frames.send(PONG)
                    continue
                if kind != TASK:
                    self.__frames.end(REFUSED, f"received a frame of the unknown kind {kind}")
                (number,) = NUMBER.unpack_from(content)
                self.__read_ahead.put((number, content[NUMBER.size :]))
        except Exception as error:
            self.__frames.end(REFUSED, f"tasks could not be read: {named(error)}")

    def __read(self, size):
        """Exactly so many bytes. Ends the process if the worker has closed the pipe, or is gone."""
        content = self.__file.read(size)
        if len(content) < size:
            os._exit(0)
        return content


def main(service_name):
    frames = Frames(os.fdopen(os.dup(1), "wb"))
    # What libraries print must not end up between the frames.
    os.dup2(2, 1)
    tasks = Input(frames, sys.stdin.buffer)
    tasks.start()
    session = Session(frames)
    try:
        session.open(service_name)
    except Exception as error:
        frames.end(LOST, f"cannot open a session of the service {service_name}: {text_of(error)}")
    while True:
        number, payload = tasks.next()
        try:
            session.submit(number, payload)
        except Exception as error:
            size = len(payload)
            reason = f"Symphony did not accept a task of {size} bytes: {text_of(error)}"
            frames.end(REFUSED, reason)


if __name__ == "__main__":
    main(sys.argv[1])
