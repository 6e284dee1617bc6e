"""A stand-in for IBM's `soamapi`, for tests: the calls that docs/symphony.md lists, and no others.

It runs services as processes of this machine. The file that SOAMAPI_CONFIG names says which, and
what goes wrong:

    {"services": {"NAME": {"file": "service.py", "instances": 4, "isProgram": true}},
     "connectFailures": 1,       the first so many connections fail
     "loseSessionAfter": 3,      sessions are lost after so many answers; the other answers arrive
     "lostSessions": 1,          nevertheless. Only so many sessions are lost
     "sendFailures": 1,          the first so many inputs are refused
     "failedTasks": 1,           the first so many tasks fail without an exception of the service
     "hangingSends": 1,          the first so many calls of `send_task_input` do not return
     "leaveSessionAfter": 5,     instances leave their session after so many tasks, and enter it
     "doubleAnswers": true,      each answer arrives twice
     "wrapExceptions": true,     the exceptions of services are in one more exception
     "answerOnSend": true,       an answer may arrive before `send_task_input` returns
     "delayMs": 5}               each answer is this late

`python -m soamapi FILE` is the process of a service; one that is a program, and calls `run` of its
container, is started as that. With SOAMAPI_SOCKET in the environment, the process listens there,
and serves the sessions of all clients that have `"socket": "PATH"` in the entry of the service, in
place of instances of their own. Answers arrive on other threads each time.
"""

import importlib.util
import itertools
import json
import os
import pickle
import queue
import socket
import sys
import threading
import time

from soaminstance import FAILURE, INVOKE, OUTPUT, OwnInstance, SharedInstance, read, write


class SoamException(Exception):
    """What the library reports. It may contain the exception of a service."""

    def __init__(self, text, embedded=None):
        super().__init__(text)
        self.__embedded = embedded

    def get_embedded_exception(self):
        return self.__embedded


class SessionFlags:
    PARTIAL_ASYNC = 2


class DefaultSecurityCallback:
    def __init__(self, user, password):
        self.credentials = (user, password)


class Message:
    """What travels; subclasses write themselves to streams."""

    def on_serialize(self, stream):
        raise NotImplementedError

    def on_deserialize(self, stream):
        raise NotImplementedError


class _Stream:
    def __init__(self, content=b""):
        self.content = content

    def write_byte_array(self, values, start, count):
        assert values.typecode == "b", "an array of signed bytes is required"
        self.content += values[start : start + count].tobytes()

    def read_byte_array(self, typecode):
        import array

        values = array.array(typecode)
        values.frombytes(self.content)
        return values


def _bytes_of(message):
    stream = _Stream()
    message.on_serialize(stream)
    return stream.content


class SessionCallback:
    def on_response(self, task_output_handle):
        raise NotImplementedError

    def on_exception(self, exception):
        raise NotImplementedError


class SessionCreationAttributes:
    def set_session_type(self, name):
        assert name == "RecoverableAllHistoricalData"

    def set_session_name(self, name):
        self.name = name

    def set_session_flags(self, flags):
        assert flags == SessionFlags.PARTIAL_ASYNC

    def set_session_callback(self, callback):
        self.callback = callback


class TaskSubmissionAttributes:
    def set_task_input(self, message):
        self.content = _bytes_of(message)


class _TaskInputHandle:
    def __init__(self, task_id):
        self.__id = task_id

    def get_id(self):
        return self.__id


class _TaskOutputHandle:
    def __init__(self, task_id, content, exception):
        self.__id = task_id
        self.__content = content
        self.__exception = exception

    def get_id(self):
        return self.__id

    def is_successful(self):
        return self.__exception is None

    def populate_task_output(self, message):
        message.on_deserialize(_Stream(self.__content))

    def get_exception(self):
        return self.__exception


class _Settings:
    """The file of SOAMAPI_CONFIG. What was counted is next to it, for the next process."""

    def __init__(self):
        self.path = os.environ["SOAMAPI_CONFIG"]
        with open(self.path, encoding="utf-8") as file:
            self.values = json.load(file)

    def get(self, name, default=0):
        return self.values.get(name, default)

    def service(self, name):
        services = self.get("services", {})
        if name not in services:
            raise SoamException(f"Domain <Client>: Application <{name}> is not enabled")
        return services[name]

    def is_among_first(self, name):
        """Whether this occurrence is one of the first `name` ones, in all processes."""
        for number in range(self.get(name)):
            try:
                os.close(os.open(f"{self.path}.{name}.{number}", os.O_CREAT | os.O_EXCL))
                return True
            except FileExistsError:
                pass
        return False


def _invoke(instance, content):
    """The output of the service and its exception. Raises OSError or EOFError if it ends."""
    write(instance.input, INVOKE, content)
    kind, answer = read(instance.output)
    if kind == OUTPUT:
        return answer, None
    text, pickled = pickle.loads(answer)
    try:
        embedded = pickle.loads(pickled) if pickled else None
    except Exception:
        embedded = None
    return b"", SoamException(f"the service has failed: {text}", embedded)


class _Session:
    numbers = itertools.count(1)

    def __init__(self, settings, service, callback):
        self.__settings = settings
        self.__service = service
        self.__callback = callback
        self.__id = str(next(self.numbers))
        self.__tasks = itertools.count(1)
        self.__inputs = queue.Queue()
        self.__answers = itertools.count(1)
        self.__is_lost = False
        for _ in range(service.get("instances", 1)):
            threading.Thread(target=self.__serve, daemon=True).start()

    def get_id(self):
        return self.__id

    def send_task_input(self, attributes):
        if self.__is_lost or self.__settings.is_among_first("sendFailures"):
            raise SoamException("the session does not accept tasks")
        if self.__settings.is_among_first("hangingSends"):
            threading.Event().wait()
        task_id = f"{self.__id}.{next(self.__tasks)}"
        answered = threading.Event()
        self.__inputs.put((task_id, attributes.content, answered))
        if self.__settings.get("answerOnSend", False):
            answered.wait(1)
        return _TaskInputHandle(task_id)

    def __serve(self):
        instance = None
        while True:
            task_id, content, answered = self.__inputs.get()
            output, exception = b"", None
            try:
                if instance is None:
                    path = self.__service.get("socket")
                    own = path is None
                    instance = OwnInstance(self.__service) if own else SharedInstance(path)
                output, exception = _invoke(instance, content)
            except (OSError, EOFError) as error:
                end = error if instance is None else instance.end()
                exception = SoamException(f"the service instance has exited: {end}")
                instance = None
            self.__answer(_TaskOutputHandle(task_id, output, self.__disguise(exception)))
            answered.set()

    def __disguise(self, exception):
        if self.__settings.is_among_first("failedTasks"):
            return SoamException("the host of the task was lost")
        if exception is not None and self.__settings.get("wrapExceptions", False):
            return SoamException("see the embedded exception", exception)
        return exception

    def __answer(self, handle):
        is_doubled = self.__settings.get("doubleAnswers", False)
        delay = self.__settings.get("delayMs") / 1000
        if next(self.__answers) == self.__settings.get("loseSessionAfter", -1):
            if self.__settings.is_among_first("lostSessions"):
                self.__is_lost = True
                lost = SoamException("the connection to the session manager was lost")
                self.__on_thread(0, self.__callback.on_exception, lost)
        for _ in range(2 if is_doubled else 1):
            thread = self.__on_thread(delay, self.__callback.on_response, handle)
            if self.__settings.get("answerOnSend", False):
                thread.join()

    @staticmethod
    def __on_thread(delay, call, argument):
        def run():
            time.sleep(delay)
            call(argument)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread


class _Connection:
    def __init__(self, settings, service):
        self.__settings = settings
        self.__service = service

    def get_id(self):
        return f"connection-{os.getpid()}"

    def create_session(self, attributes):
        return _Session(self.__settings, self.__service, attributes.callback)


_is_initialized = False


def initialize():
    global _is_initialized
    _is_initialized = True


def connect(service_name, security_callback):
    assert _is_initialized, "initialize() comes first"
    assert security_callback.credentials == ("Guest", "Guest")
    settings = _Settings()
    if settings.is_among_first("connectFailures"):
        raise SoamException("cannot connect to the session director")
    return _Connection(settings, settings.service(service_name))


# The process of a service.


class _TaskContext:
    def __init__(self, content):
        self.__content = content
        self.output = b""

    def populate_task_input(self, message):
        message.on_deserialize(_Stream(self.__content))

    def set_task_output(self, message):
        self.output = _bytes_of(message)


class ServiceContainer:
    def on_create_service(self, service_context):
        pass

    def on_session_enter(self, session_context):
        pass

    def on_invoke(self, task_context):
        raise NotImplementedError

    def on_session_leave(self):
        pass

    def on_destroy_service(self):
        pass

    def run(self):
        _serve(self)


def _container_of(path):
    spec = importlib.util.spec_from_file_location("service", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["service"] = module
    spec.loader.exec_module(module)
    return module.ServiceContainer()


def _pickled(exception):
    try:
        return pickle.dumps(exception)
    except Exception:
        return b""


def _invoked(container, content):
    """The kind and content of the answer."""
    context = _TaskContext(content)
    try:
        container.on_invoke(context)
        return OUTPUT, context.output
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        return FAILURE, pickle.dumps((text, _pickled(error)))


def _serve(container):
    container.on_create_service(None)
    path = os.environ.get("SOAMAPI_SOCKET")
    if path is None:
        _serve_client(container)
    else:
        _serve_all(container, path)


def _serve_client(container):
    output = os.fdopen(os.dup(1), "wb")
    # What services print must not end up between the answers.
    os.dup2(2, 1)
    inputs = queue.Queue()

    def receive():
        try:
            while True:
                inputs.put(read(sys.stdin.buffer)[1])
        except EOFError:
            os._exit(0)

    container.on_session_enter(None)
    threading.Thread(target=receive, daemon=True).start()
    tasks_until_leave = _Settings().get("leaveSessionAfter")
    for count in itertools.count(1):
        write(output, *_invoked(container, inputs.get()))
        if tasks_until_leave > 0 and count % tasks_until_leave == 0:
            container.on_session_leave()
            container.on_session_enter(None)


def _serve_all(container, path):
    """One task at a time, whoever sent it; the session is entered for it."""
    lock = threading.Lock()
    entered = None

    def serve(connection):
        nonlocal entered
        file = connection.makefile("rwb")
        while True:
            try:
                _, content = read(file)
            except EOFError:
                return
            with lock:
                if entered is not connection:
                    if entered is not None:
                        container.on_session_leave()
                    container.on_session_enter(None)
                    entered = connection
                answer = _invoked(container, content)
            write(file, *answer)

    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen()
    print("listening", flush=True)
    while True:
        threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()


if __name__ == "__main__":
    # The service imports the module by its name: there must be one.
    import soamapi

    soamapi._serve(soamapi._container_of(sys.argv[1]))
