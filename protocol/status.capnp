# What processes report about themselves, in heartbeats and on the monitor. Every field is
# documented in docs/protocol.md.

@0xa4dfa1212ad2d0f0;

using import "annotation.capnp".id;
using import "annotation.capnp".extension;

struct Resource {
  # What one process uses.

  cpu @0 :UInt16;
  # CPU percent times ten, 992 = 99.2 %. More than one core can make it exceed 1000.

  rss @1 :UInt64;
  # Resident memory in bytes.
}

struct PeerInfo $extension {
  # What a process of ours is and where (docs/protocol.md#peers).

  name @0 :Text;
  # What people call it; empty: a client inside of a task.

  host @1 :Text;
  # The name of its machine, as the machine says it.

  machineId @2 :Text;
  # The same in all processes on one running system, containers among them; empty: not known.

  pid @3 :UInt32;
  # Its process id there.

  version @4 :Text;
  # Of the package: `0.1.0`.

  startedMS @5 :UInt64;
  # When it began, by its clock: milliseconds since 1970.

  endsMS @6 :UInt64;
  # When its time is over, by its clock; 0 = it has no limit that is known.

  allocation @7 :Text;
  # What it was started as part of, for people: the job of a cluster manager; empty: of nothing.
}

struct RunningTask $extension {
  # A task that has begun and not ended.

  taskId @0 :Data $id(task);
  # Which task.

  forMS @1 :UInt32;
  # For how long it has run, in milliseconds, by the worker.

  name @2 :Text;
  # What it is called, for people. Empty in heartbeats.
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
  # Tasks that workers have.

  success @2 :UInt32;
  # Tasks that ended with this status.

  failed @3 :UInt32;
  # Tasks that ended with this status.

  canceled @4 :UInt32;
  # Tasks that ended with this status.

  notFound @5 :UInt32;
  # Tasks that ended with this status.
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
  # It was put aside for a more urgent task.

  resource @4 :Resource;
  # What it uses.
}

struct WorkerStatus {
  # One worker as the scheduler sees it; much is copied from the worker's last heartbeat.

  workerId @0 :Data $id(identity);
  # Which worker.

  agent @1 :Resource;
  # What its agent process uses (copied).

  rssFree @2 :UInt64;
  # Available memory of its machine in bytes (copied).

  free @3 :UInt32;
  # Tasks that it could still take: its queue size minus `sent`.

  sent @4 :UInt32;
  # Unfinished tasks that the scheduler has given to it.

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
  # Messages that came in.

  sent @1 :List(Pair);
  # Messages that went out.

  struct Pair {
    # One kind of message and its number (in code `BinderStatusPair`).

    client @0 :Text;
    # The name of the message's struct, for example `TaskResult`. The field's name is an accident.

    number @1 :UInt32;
    # How many.
  }
}
