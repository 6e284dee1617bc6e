# Types shared by several messages. Every field is documented in docs/protocol.md.

@0xf57f79ac88fab620;

using import "annotation.capnp".id;
using import "annotation.capnp".extension;

enum TaskStatus {
  success @0;     # The task returned; one result.
  failed @1;      # The task threw, or could not be run; one result, the error.
  canceled @2;    # Dropped before it ran, or killed by a forced cancel.
  notFound @3;    # The receiver of a cancel does not have the task, or will not cancel it.
  workerDied @4;  # It took down too many workers.
  noWorker @5;    # Refused: no worker can take it.
  inactive @6;    # Monitor only: it waits in the scheduler.
  running @7;     # Monitor only: a worker has it.
  canceling @8;   # Monitor only: its worker was asked to cancel it.
}

struct ObjectContent {
  # Objects: parallel lists, one entry per object in each.

  objectIds @0 :List(Data) $id(object);
  # Which objects.

  objectTypes @1 :List(ObjectContentType);
  # The type of each.

  objectNames @2 :List(Data);
  # Name of each for display, UTF-8.

  objectBytes @3 :List(List(Data));
  # Content of each, cut into chunks.

  enum ObjectContentType {
    serializer @0;  # The serializer of a client.
    object @1;      # Anything else: a function, an argument, a result.
    file @2;        # The same, in a file, which the only chunk names (docs/protocol.md#files).
    refused @3;     # Nothing: it was not stored, and the only chunk says why (docs/protocol.md#storage).
    stored @4;      # The same, on an object storage server (docs/protocol.md#servers).
  }
}

struct TaskCapability $extension {
  # Something that a worker offers or a task needs.

  name @0 :Text;
  # For example `gpu`.

  value @1 :Int64;
  # How many; -1 if only the name matters.
}

enum WaitReason $extension {
  # Why tasks wait (docs/protocol.md#waiting).

  noScheduler @0;   # No scheduler answers.
  noWorker @1;      # No worker is connected.
  noRuntime @2;     # There are workers, but none of the client's runtime.
  noCapability @3;  # No worker offers what the task needs.
  allBusy @4;       # Every worker that could run it is busy.
  limit @5;         # The scheduler's limit for waiting tasks is reached.
  dependency @6;    # It needs the result of another task.
}
