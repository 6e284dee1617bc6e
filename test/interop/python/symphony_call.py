"""Calls what is on stdin as a service does, after hiding the modules of argv: prints the outcome."""

import json
import pickle
import sys
import traceback

for name in sys.argv[1:]:
    sys.modules[name] = None

import cloudpickle

seen = {}
function, *arguments = cloudpickle.loads(sys.stdin.buffer.read())
seen["name"] = function.__name__
seen["arguments"] = arguments
try:
    seen["result"] = function(*arguments)
except RuntimeError as error:
    # As Symphony would carry it.
    error = pickle.loads(pickle.dumps(error))
    name, message, stack, content = error.scaler_failure
    inner = pickle.loads(content)
    cause = inner.__cause__ and type(inner.__cause__).__name__
    frames = [frame.name for frame in traceback.extract_tb(inner.__traceback__)]
    seen["text"] = str(error)
    seen["failure"] = [name, message, stack.strip().splitlines()[-1]]
    try:
        text = str(inner)
    except Exception:
        text = None
    # Those of endless recursions are the same.
    seen["error"] = [type(inner).__name__, text, cause, frames[:10]]
seen["imported"] = "scaler" in sys.modules
print(json.dumps(seen))
