# What processes report about themselves, in heartbeats and on the monitor. Every field is
# documented in docs/protocol.md.

@0xa4dfa1212ad2d0f0;

using import "annotation.capnp".id;
using import "annotation.capnp".extension;

struct Resource {
  # The resources that one process uses.

  cpu @0 :UInt16;
  # CPU percent times ten, 992 = 99.2 %. More than one core can make it exceed 1000.

  rss @1 :UInt64;
  # Resident memory in bytes.
}

struct PeerInfo $extension {
  # Describes a process of this package and its host (docs/protocol.md#peers).

  name @0 :Text;
  # Its name for display; empty: a client inside a task.

  host @1 :Text;
  # The machine's own host name.

  machineId @2 :Text;
  # The same in all processes on one running system, including containers; empty: unknown.

  pid @3 :UInt32;
  # Its process id on that machine.

  version @4 :Text;
  # Of the package: `0.1.0`.

  startedMS @5 :UInt64;
  # When it started, by its own clock: milliseconds since 1970.

  endsMS @6 :UInt64;
  # When its time limit ends, by its own clock; 0 = no known limit.

  allocation @7 :Text;
  # The cluster manager's job that it was started in, or NAME/UNIT of an allocator; empty: none.

  endsInMS @8 :UInt64;
  # How much of its time is left when this is sent, in milliseconds; 0 = no known limit.
}

struct RunningTask $extension {
  # A task that has started and not finished.

  taskId @0 :Data $id(task);
  # Which task.

  forMS @1 :UInt32;
  # How long it has run, in milliseconds, as measured by the worker.

  name @2 :Text;
  # Its name for display. Empty in heartbeats.

  function @3 :Text;
  # The name of its function for display. Empty in heartbeats.
}

struct ObjectManagerStatus {
  # The scheduler's objects.

  numberOfObjects @0 :UInt32;
  # Objects stored now.
}

struct ClientManagerStatus {
  # The scheduler's clients.

  clientToNumOfTask @0 :List(Pair);
  # The clients that have unfinished tasks.

  struct Pair {
    # One client and its load (in code `ClientManagerStatusPair`).

    client @0 :Data $id(identity);
    # Which client.

    numTask @1 :UInt32;
    # Its unfinished tasks and graphs.
  }
}

struct TaskManagerStatus {
  # The scheduler's tasks: two gauges, then counters since it started.

  unassigned @0 :UInt32;
  # Tasks that wait for a worker.

  running @1 :UInt32;
  # Tasks assigned to workers.

  success @2 :UInt32;
  # Tasks that finished with this status.

  failed @3 :UInt32;
  # Tasks that finished with this status.

  canceled @4 :UInt32;
  # Tasks that finished with this status.

  notFound @5 :UInt32;
  # Tasks that finished with this status.
}

struct ProcessorStatus {
  # One process that runs tasks.

  pid @0 :UInt32;
  # Process id.

  initialized @1 :Bool;
  # It has started and can take tasks.

  hasTask @2 :Bool;
  # It runs a task now.

  suspended @3 :Bool;
  # It was suspended for a more urgent task.

  resource @4 :Resource;
  # The resources that it uses.
}

struct WorkerStatus {
  # One worker as the scheduler sees it; many fields are copied from its last heartbeat.

  workerId @0 :Data $id(identity);
  # Which worker.

  agent @1 :Resource;
  # The resources that its agent process uses (copied).

  rssFree @2 :UInt64;
  # Available memory of its machine in bytes (copied).

  free @3 :UInt32;
  # Tasks that it can still accept: its queue size minus `sent`.

  sent @4 :UInt32;
  # Unfinished tasks that the scheduler has assigned to it.

  queued @5 :UInt32;
  # Tasks that wait inside the worker (copied from `queuedTasks`).

  suspended @6 :UInt8;
  # Number of its suspended processors, at most 255. Not a flag.

  lagUS @7 :UInt64;
  # Its latency in microseconds (copied from `latencyUS`).

  lastS @8 :UInt8;
  # Whole seconds since its last heartbeat, at most 255.

  itl @9 :Text;
  # Three characters, each `0` or `1`: processor initialized, has a task, task lock.

  processorStatuses @10 :List(ProcessorStatus);
  # Its processors (copied).
}

struct WorkerManagerStatus {
  # The scheduler's workers.

  workers @0 :List(WorkerStatus);
  # One entry per living worker, in the order in which they joined.
}

struct BinderStatus {
  # Messages counted on the scheduler's main socket.

  received @0 :List(Pair);
  # Messages received.

  sent @1 :List(Pair);
  # Messages sent.

  struct Pair {
    # One kind of message and its number (in code `BinderStatusPair`).

    client @0 :Text;
    # The name of the message's struct, for example `TaskResult`. The field's name is an accident.

    number @1 :UInt32;
    # How many.
  }
}
