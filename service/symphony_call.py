# Calls the function of a task of a Python client, inside a service of IBM Spectrum Symphony. The
# text of this file travels with each task, because services know nothing of this package.


def bind(call, flags, may_submit):
    """The function that a service calls, in place of `call`.

    `flags` are those of the task. `may_submit`: the task may create clients. Their tasks then have
    a higher priority than this one, as in a worker of Python Scaler.
    """
    import functools
    import sys

    def enter():
        if not may_submit and "scaler" not in sys.modules:
            return lambda: None
        try:
            from types import SimpleNamespace

            from scaler.worker.agent.processor.processor import _current_processor

            task = SimpleNamespace(metadata=flags)
            token = _current_processor.set(SimpleNamespace(current_task=lambda: task))
            return lambda: _current_processor.reset(token)
        except ImportError:
            return lambda: None

    def failure(error):
        """An exception that travels whatever `error` is. The bridge does not load the latter."""
        import traceback

        import cloudpickle

        # Without the frame of this file.
        error = error.with_traceback(error.__traceback__ and error.__traceback__.tb_next)
        try:
            stack = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        except Exception:
            stack = "<no text>"
        try:
            from tblib import pickling_support

            pickling_support.install(error)
            content = cloudpickle.dumps(error)
        except Exception:
            content = remote(error, stack)
        name, message = type(error).__name__, text_of(error)
        wrapper = RuntimeError(f"{name}: {message}")
        wrapper.scaler_failure = (name, message, stack, content)
        return wrapper

    def text_of(error):
        try:
            return str(error)
        except Exception:
            return "<no text>"

    def remote(error, stack):
        """Without tblib, the traceback is text: the cause of the exception."""
        import cloudpickle
        from multiprocessing.pool import ExceptionWithTraceback

        try:
            # Deep tracebacks cannot be pickled, nor can exceptions that have them.
            error.__cause__ = error.__context__ = None
            wrapper = ExceptionWithTraceback(error.with_traceback(None), None)
            wrapper.tb = f'\n"""\n{stack}"""'
            return cloudpickle.dumps(wrapper)
        except Exception:
            name = type(error).__name__
            text = f"{name}, which cannot be pickled: {text_of(error)}"
            return cloudpickle.dumps(RuntimeError(text))

    @functools.wraps(call, updated=())
    def run(*args):
        leave = enter()
        try:
            return call(*args)
        except Exception as error:
            raised = failure(error)
        finally:
            leave()
        raise raised

    return run
