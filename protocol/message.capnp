# The messages that a scheduler, its clients, its workers and its monitors exchange. Every field is
# documented in docs/protocol.md.

@0xaf44f44ea94a4675;

using import "annotation.capnp".id;
using import "annotation.capnp".extension;
using import "annotation.capnp".bitSet;
using CommonType = import "common.capnp";
using Status = import "status.capnp";

struct Task {
  # One call of a function: client -> scheduler -> worker.

  taskId @0 :Data $id(task);
  # Chosen by the client, unique in the whole scheduler while the task is unfinished.

  source @1 :Data $id(identity);
  # The client that owns the task.

  metadata @2 :Data;
  # Task flags (docs/protocol.md#task-flags).

  funcObjectId @3 :Data $id(object);
  # The function.

  functionArgs @4 :List(Argument);
  # The arguments in order.

  capabilities @5 :List(CommonType.TaskCapability) $extension;
  # What the worker must offer.

  parentTaskId @6 :Data $id(task) $extension;
  # The task inside which this one was submitted.

  name @7 :Text $extension;
  # Name for display; empty: the name of the function.

  timeoutMs @8 :UInt32 $extension;
  # How long it may run; 0 = no limit.

  retries @9 :UInt32 $extension;
  # How often it is run again after it has failed.

  workerDeathLimit @10 :UInt32 $extension;
  # It fails with workerDied after the loss of this many workers; 0 = the scheduler's default.

  attempt @11 :UInt32 $extension;
  # How often it was started before. Set by schedulers.

  keepsResult @12 :Bool $extension;
  # The worker should keep a result that becomes an object: another task needs it. Set by
  # schedulers. Small results of packed tasks are then written by the serializer.

  mayHaveRun @13 :Bool $extension;
  # Another scheduler process had it before: a worker may still have it. Set by clients.

  output @14 :OutputPlace $extension;
  # Where its output goes (docs/protocol.md#output).

  outputClient @15 :Data $id(identity) $extension;
  # forward: the client that prints it, if that is not `source`.

  traceContext @16 :Text $extension;
  # The trace to which it belongs (docs/protocol.md#traces).

  count @17 :UInt32 $extension;
  # How many tasks this is: a run of tasks that differ only in their arguments
  # (docs/protocol.md#runs); 0 = one.

  packed @18 :Data $extension;
  # The arguments of all tasks of the run; `functionArgs` has only the attachments of the function.

  enum OutputPlace {
    # Where the output of a task goes.

    log @0;      # To the log of its worker.
    forward @1;  # To the client, which prints it.
    off @2;      # Nowhere.
  }

  struct Argument {
    # One argument of a task.

    type @0 :ArgumentType;
    # The kind of `data`.

    data @1 :Data;
    # A task id, an object id or a serialized value, by `type`.

    enum ArgumentType {
      task @0;                 # The id of another node of the same graph. Only inside a GraphTask or a link.
      objectID @1;             # The id of an object.
      inline @2 $extension;    # The serialized value itself (docs/protocol.md#inline).
      sharedObjectID @3 $extension;  # As objectID; tasks share the value and must not change it.
      sharedInline @4 $extension;    # As inline; it is the result of another task.
    }
  }
}

struct TaskCancel {
  # Cancel a task: client -> scheduler; scheduler -> worker.

  taskId @0 :Data $id(task);
  # Which task.

  flags @1 :TaskCancelFlags;
  # How.

  count @2 :UInt32 $extension;
  # How many consecutive tasks, of which `taskId` is the first (docs/protocol.md#runs); 0 = one.

  struct TaskCancelFlags {
    # How a task is cancelled.

    force @0 :Bool;
    # Cancel it even if it is running: its processor is killed.

    retrieveTaskObject @1 :Bool;
    # Requests the task itself in the answer. Always false: true crashes a 1.9.9 worker.
  }
}

struct TaskResult {
  # How a task or graph ended: worker -> scheduler -> client.

  taskId @0 :Data $id(task);
  # The task, or the graph (its last message).

  status @1 :CommonType.TaskStatus;
  # How it ended.

  metadata @2 :Data;
  # Profile result (docs/protocol.md#profile-result).

  results @3 :List(Data) $id(object);
  # The object that holds the result or the error; empty if there is none or it is inline.

  inlineResults @4 :List(Data) $extension;
  # The serialized result or error itself, instead of an object (docs/protocol.md#inline).

  worker @5 :Data $id(identity) $extension;
  # The worker that ran it.

  failedTaskId @6 :Data $id(task) $extension;
  # For a node of a graph that failed because another node did: that other node.

  attempt @7 :UInt32 $extension;
  # The attempt of the Task that this answers.

  attempts @8 :List(TaskAttempt) $extension;
  # The attempts before the one that this answers, oldest first. Set by schedulers.

  error @9 :List(TaskError) $extension;
  # failed: the error as text, for monitors; at most one (docs/protocol.md#failures).

  count @10 :UInt32 $extension;
  # How many consecutive tasks ended in this way, of which `taskId` is the first
  # (docs/protocol.md#runs); 0 = one.

  packed @11 :Data $extension;
  # success: the results of all of them, instead of `results` and `inlineResults`.

  isInFile @12 :Bool $extension;
  # From a processor to its agent: the result is in a file, which `inlineResults` names.
}

struct TaskError $extension {
  # The texts of an error, for display.

  name @0 :Text;
  # Its name: `TypeError`. At most 256 characters.

  message @1 :Text;
  # Its message, at most 1,024 characters.

  stack @2 :Text;
  # Its stack, name and message included, at most 4,096 characters.
}

struct TaskAttempt $extension {
  # An assignment of a task to a worker (docs/protocol.md#explanation).

  worker @0 :Data $id(identity);
  # Which worker.

  outcome @1 :AttemptOutcome;
  # Its outcome.

  agoMS @2 :UInt32;
  # How long ago the task was assigned to the worker, in milliseconds.

  forMS @3 :UInt32;
  # How long the worker had it, or has had it so far, in milliseconds.

  enum AttemptOutcome {
    # The outcome of an attempt.

    unfinished @0;  # The worker has the task, and has not started it as far as is known.
    running @1;     # The worker has started it.
    failed @2;      # The function failed, and the task was run again.
    workerLost @3;  # The worker left, or was lost.
  }
}

struct TaskInquiry $extension {
  # Asks for the state of a task: client -> scheduler (docs/protocol.md#explanation).

  taskId @0 :Data $id(task);
  # The task, or a node of a graph of this client.
}

struct TaskExplanation $extension {
  # The answer to a TaskInquiry: scheduler -> client.

  taskId @0 :Data $id(task);
  # The task of the TaskInquiry.

  state @1 :ExplainedState;
  # The state of the task.

  reason @2 :CommonType.WaitReason;
  # waiting: the reason.

  needs @3 :Text;
  # Its requirements that no worker offers: `gpu=1, linux`. Only with the reason noCapability.

  forMS @4 :UInt32;
  # How long it has been in this state, in milliseconds; 0 if that is not measured.

  dependsOn @5 :List(Data) $id(task);
  # The unfinished nodes whose results it needs, at most 20. Only with the reason dependency.

  attempts @6 :List(TaskAttempt);
  # The workers that had it, oldest first, and the one that has it; at most 20.

  enum ExplainedState {
    # The state of a task.

    unknown @0;    # The scheduler does not have it (any longer).
    waiting @1;    # It waits for a worker, or for other tasks.
    assigned @2;   # A worker has it.
    canceling @3;  # It was cancelled, and its worker has not answered.
  }
}

struct TaskUpdate $extension {
  # Reports on an unfinished task: worker -> scheduler -> client
  # (docs/protocol.md#task-updates).

  taskId @0 :Data $id(task);
  # The task.

  update @1 :TaskUpdateType;
  # What has changed.

  done @2 :Float64;
  # progress: how much of it is done; waiting: how often it has lost its process while waiting.

  total @3 :Float64;
  # progress: how much there is; 0 = unknown.

  enum TaskUpdateType {
    waiting @0;   # It only waits for tasks that it has submitted itself.
    resumed @1;   # It continues.
    progress @2;  # It reports its progress.
    running @3;   # It has started.
    queued @4;    # It had started, and waits for a worker again.
  }
}

struct TaskOutput $extension {
  # Output of a task: worker -> scheduler -> client (docs/protocol.md#output).

  taskId @0 :Data $id(task);
  # The task.

  client @1 :Data $id(identity);
  # The client that prints it.

  name @2 :Text;
  # The name of the task, for display.

  stream @3 :OutputStream;
  # The stream to which the task wrote it.

  content @4 :Data;
  # The bytes; may begin and end anywhere in a line.

  droppedBytes @5 :UInt64;
  # How much output for this client was dropped since the last report, in bytes.

  isLast @6 :Bool;
  # The task has finished on this worker: nothing from this run follows.

  enum OutputStream {
    # A standard stream.

    stdout @0;  # Standard output.
    stderr @1;  # Standard error.
  }
}

struct GraphTask {
  # Tasks that depend on each other: client -> scheduler.

  taskId @0 :Data $id(task);
  # Id of the graph, from the same name space as task ids.

  source @1 :Data $id(identity);
  # The client that owns the graph.

  targets @2 :List(Data) $id(task);
  # The nodes whose results the client needs.

  graph @3 :List(Task);
  # All nodes, in any order.

  isOpen @4 :Bool $extension;
  # More nodes follow in further messages of the same graph (docs/protocol.md#graph-parts).
}

struct GraphTaskCancel {
  # Cancel a graph: client -> scheduler.

  taskId @0 :Data $id(task);
  # Which graph.
}

struct ClientHeartbeat {
  # A client is alive: client -> scheduler.

  resource @0 :Status.Resource;
  # The resources that the client's process uses.

  latencyUS @1 :UInt32;
  # Half of the last heartbeat's round trip, in microseconds; 0 before the first echo.

  features @2 :UInt64 $extension $bitSet;
  # The features that the client understands (docs/protocol.md#features).

  runtime @3 :Text $extension;
  # The runtime of its functions, for example `node/20.20.2`; absent means `python`.

  worker @4 :Data $id(identity) $extension;
  # The worker that runs the task in which this client was created; empty: none.

  wantsReport @5 :Bool $extension;
  # Requests a report in the echo.

  info @6 :List(Status.PeerInfo) $extension;
  # In the first heartbeat of a connection: one, of the client's process; otherwise none.

  wantsPeers @7 :Bool $extension;
  # Requests that the report include workers and clients.
}

struct ClientHeartbeatEcho {
  # The answer to each ClientHeartbeat: scheduler -> client.

  schedulerId @0 :Data $id(scheduler) $extension;
  # Random id of this scheduler process. A change means that it was restarted.

  features @1 :UInt64 $extension $bitSet;
  # The features that the scheduler understands (docs/protocol.md#features).

  reports @2 :List(SchedulerReport) $extension;
  # One if the client has requested it, otherwise none (docs/protocol.md#report).

  waiting @3 :List(WaitingTasks) $extension;
  # Why tasks of the client wait in the scheduler (docs/protocol.md#waiting).
}

struct WaitingTasks $extension {
  # Tasks that wait for the same reason.

  reason @0 :CommonType.WaitReason;
  # Why they wait.

  tasks @1 :UInt32;
  # How many there are in the scheduler.

  forMS @2 :UInt32;
  # How long this has been the reason, in milliseconds; 0 if that is not measured.

  needs @3 :Text;
  # Their requirements that no worker offers: `gpu=1, linux`. Only with the reason noCapability.

  isDeadlocked @4 :Bool;
  # Whether workers offer them, but waiting parent tasks hold the units. Only with noCapability.
}

struct SchedulerReport $extension {
  # Describes a scheduler, for operators.

  version @0 :Text;
  # The version of the package: `0.1.0`.

  runtime @1 :Text;
  # Its runtime, for example `node/20.20.2`.

  clockMS @2 :UInt64;
  # Its clock at the time of the answer: milliseconds since 1970.

  monitorAddress @3 :Text;
  # The bound address for monitors: `tcp://0.0.0.0:2347`.

  workers @4 :UInt32;
  # How many workers there are.

  suitable @5 :UInt32;
  # How many of them can run the functions of the client that sent the request.

  idle @6 :UInt32;
  # How many of these are idle.

  workerReports @7 :List(WorkerReport);
  # The workers in the order in which they joined, at most 1,000; none unless requested.

  clientReports @8 :List(ClientReport);
  # The clients, likewise; those that only request reports are not included.

  clients @9 :UInt32;
  # How many such clients there are.

  waiting @10 :List(WaitingCount);
  # Why tasks wait, if peers were requested; largest counts first, at most 200.

  freeBytes @11 :UInt64;
  # How much more an object storage server can store, in bytes: at least 1. From schedulers: 0.
}

struct WaitingCount $extension {
  # Tasks of one function that wait in the scheduler for the same reason.

  reason @0 :CommonType.WaitReason;
  # Why they wait.

  needs @1 :Text;
  # Their requirements: `gpu=1, linux`; empty: none.

  function @2 :Text;
  # The name of their function; empty: it has none, or it is unknown.

  tasks @3 :UInt32;
  # How many there are.

  forMS @4 :UInt32;
  # About how long the first of them has waited, in milliseconds; 0 if that is not measured.

  isPython @5 :Bool;
  # Their function is of Python.
}

struct WorkerReport $extension {
  # A worker, as seen by the scheduler.

  worker @0 :Status.WorkerStatus;
  # The same as for monitors.

  runtime @1 :Text;
  # The runtime in its heartbeats; empty: Python.

  agentId @2 :Text;
  # Identical for all workers that share their units.

  capabilities @3 :List(CommonType.TaskCapability);
  # The capabilities that it offers.

  isLeaving @4 :Bool;
  # It accepts no further tasks.

  info @5 :List(Status.PeerInfo);
  # One; none for a worker that has not sent it, such as those of 1.9.9.

  running @6 :List(Status.RunningTask);
  # The running tasks in its last heartbeat.

  address @7 :Text;
  # The IP address from which it is connected; empty: over a unix socket, or unknown.
}

struct ClientReport $extension {
  # A client, as seen by the scheduler.

  client @0 :Data $id(identity);
  # Which client.

  runtime @1 :Text;
  # The runtime in its heartbeats; empty: Python.

  info @2 :List(Status.PeerInfo);
  # One; none for a client that has not sent it, such as those of 1.9.9.

  tasks @3 :UInt32;
  # How many of its tasks, nodes of graphs included, have not ended.

  worker @4 :Data $id(identity);
  # The worker that runs the task in which it was created; empty: none.

  objectBytes @5 :UInt64;
  # The total size in bytes of the stored objects that it uses.
}

struct WorkerHeartbeat {
  # A worker is alive: worker -> scheduler.

  agent @0 :Status.Resource;
  # The resources that the agent process uses.

  rssFree @1 :UInt64;
  # Available memory of the machine in bytes.

  queuedTasks @2 :UInt32;
  # Tasks that wait inside the worker.

  latencyUS @3 :UInt32;
  # Half of the last heartbeat's round trip, in microseconds; 0 before the first echo.

  taskLock @4 :Bool;
  # Shown by monitors as the L of ITL. 1.9.9 workers always say true.

  processors @5 :List(Status.ProcessorStatus);
  # Its living processors.

  features @6 :UInt64 $extension $bitSet;
  # The features that the worker understands (docs/protocol.md#features).

  runtime @7 :Text $extension;
  # The runtime of functions, for example `node/20.20.2`; absent means `python`.

  capabilities @8 :List(CommonType.TaskCapability) $extension;
  # What it offers to tasks that require it.

  tasks @9 :List(Data) $id(task) $extension;
  # In the first heartbeat of a connection: the tasks that it still has (docs/protocol.md#return).

  isLeaving @10 :Bool $extension;
  # It accepts no further tasks and returns those that it has not started.

  agentId @11 :Text $extension;
  # Identical for all workers that share their units (docs/protocol.md#capabilities); absent: its
  # units are not shared.

  info @12 :List(Status.PeerInfo) $extension;
  # In the first heartbeat of a connection: one, of the worker; otherwise none.

  running @13 :List(Status.RunningTask) $extension;
  # Tasks that have run for a while, in the order in which they started; at most 32. Only to
  # schedulers with bit 6.

  concurrency @14 :UInt32 $extension;
  # How many tasks it runs at a time (docs/protocol.md#concurrency); 0: one, in a processor.

  pasts @15 :List(TaskPast) $extension;
  # Of those in `tasks` that had been started before: what a new scheduler does not know of them.
}

struct TaskPast $extension {
  # What a worker knows of the earlier attempts of a task (docs/protocol.md#return).

  taskId @0 :Data $id(task);
  # Which task.

  attempt @1 :UInt32;
  # As in the Task that the worker got.

  retries @2 :UInt32;
  # As in that Task: how many times it is still run again.
}

struct WorkerHeartbeatEcho {
  # The answer to each WorkerHeartbeat: scheduler -> worker.

  schedulerId @0 :Data $id(scheduler) $extension;
  # Random id of this scheduler process. A change means that it was restarted.

  features @1 :UInt64 $extension $bitSet;
  # The features that the scheduler understands (docs/protocol.md#features).
}

struct ObjectInstruction {
  # Create or delete objects: client or worker -> scheduler; scheduler -> worker (delete).

  instructionType @0 :ObjectInstructionType;
  # Create or delete.

  objectUser @1 :Data $id(identity);
  # The client that owns the objects; the receiving worker in deletes sent by a scheduler.

  objectContent @2 :CommonType.ObjectContent;
  # create: all four lists; delete: only the ids; clear: nothing.

  enum ObjectInstructionType {
    create @0;  # Store the objects, or add a user to them.
    delete @1;  # The user no longer needs the objects.
    clear @2;   # Never sent.
  }
}

struct ObjectRequest {
  # Requests objects: client or worker -> scheduler.

  requestType @0 :ObjectRequestType;
  # What it is about.

  objectIds @1 :List(Data) $id(object);
  # Which objects. Order and duplicates affect the answer.

  enum ObjectRequestType {
    get @0;   # The objects are requested. The only type in 1.9.9.
    note @1;  # The worker has got them from another worker of its agent: it is notified of removals.
  }
}

struct ObjectResponse {
  # The answer to an ObjectRequest: scheduler -> client or worker.

  responseType @0 :ObjectResponseType;
  # The meaning of the list of ids.

  objectContent @1 :CommonType.ObjectContent;
  # The objects; see docs/protocol.md#objects for the lists when some do not exist.

  enum ObjectResponseType {
    content @0;         # Objects that exist.
    objectNotExist @1;  # Objects that do not exist. Crashes a 1.9.9 worker.
  }
}

struct ObjectFiles $extension {
  # Content of objects in files instead of messages: scheduler -> client or worker, and back
  # (docs/protocol.md#files).

  directory @0 :Text;
  # From a scheduler: where the files are.

  proof @1 :Data;
  # From a client or worker: the content of the file `key` there. Empty: it reads no files any more.
}

struct SharedObject $extension {
  # An object that clients find by a name, or that workers fetch in advance: client -> scheduler, and
  # back; scheduler -> worker (docs/protocol.md#shared).

  enum SharedObjectType {
    publish @0;  # From a client: the name stands for this object, instead of any other.
    restore @1;  # The same on a later connection: another object keeps the name.
    find @2;     # Asks for the object with this name, to use it.
    hold @3;     # It uses this object, which may not be stored yet.
    remove @4;   # The name is not to stand for anything.
    found @5;    # From a scheduler: the client is a user of this object.
    missing @6;  # No object has this name.
    removed @7;  # The answer to `remove`: the name stood for this object.
    withdrawn @8;  # To a user of the object: the name does not stand for it any more.
    published @9;  # The answer to `publish`, `restore`, `confirm`, `claim` and `copy`: it is stored, and named.
    unstored @10;  # The answer to the same: it is not stored, and its name has not changed.
    replicate @11;  # From a client, and to workers: they fetch the object before a task needs it.
    confirm @12;  # To an object storage server: asks whether this object is stored there.
    claim @13;   # The same, from a scheduler, which becomes its only user.
    copy @14;    # The same: if it is not stored there, it is copied from the server `name`.
    source @15;  # Between servers: asks from which one to copy it. The answer has its name; empty: from itself.
  }

  type @0 :SharedObjectType;
  # What it says.

  name @1 :Text;
  # 1 to 1,000 characters; empty with `hold`, `replicate`, `confirm` and `claim`. With `copy` and
  # `source`, the address of a server, as in the name of stored content; with a request for a
  # `source`, that of the server that asks (empty: others cannot reach it).

  objectId @2 :Data $id(object);
  # The object; empty with `find`, `remove` and `missing`.

  sizeBytes @3 :UInt64;
  # With `found`: the size of its content.
}

struct ObjectLoss $extension {
  # Content is lost, and what needed it was dropped: scheduler -> client, which sends it again. And
  # back, without lists, as the confirmation (docs/protocol.md#servers).

  objectIds @0 :List(Data) $id(object);
  # The objects that are not stored any more. Tasks of the client that use them were dropped.

  graphTaskIds @1 :List(Data) $id(task);
  # The graphs that were dropped.

  nodeTaskIds @2 :List(Data) $id(task);
  # The nodes of these graphs whose results are lost, or that must not run again.

  results @3 :List(TaskResult);
  # Results of other nodes, which are still there. The client is a user of their objects now. And
  # `workerDied` for tasks that must not run again.
}

struct StorageServers $extension {
  # Where the content of large objects is stored: scheduler -> client or worker, and back; object
  # storage server -> scheduler (docs/protocol.md#servers).

  servers @0 :List(StorageServer);
  # From a scheduler: those that can be used now, instead of those of the last message. To a server:
  # the one, by the name that others use; none: the scheduler cannot reach it. From a client or worker:
  # those it can reach; none: it gets content in messages.

  isServer @1 :Bool;
  # The message comes from a server, which is the only one in the list, or is the answer to it.
}

struct StorageServer $extension {
  # An object storage server.

  address @0 :Text;
  # Where it listens, for example `tcp://10.0.0.5:55555`. The host `*` stands for the one under which
  # the peer reaches the scheduler; in a message from a server, for the one it connected from.

  instance @1 :Data $id(scheduler);
  # The scheduler id in its echoes: whoever gets another one has reached another server.

  freeBytes @2 :UInt64;
  # How much more it can store, in bytes, as the scheduler has heard last: at least 1; 0: not known.
  # Only from a scheduler.
}

struct TaskRoom $extension {
  # How many tasks a client may send after a refusal: scheduler -> client
  # (docs/protocol.md#room).

  tasks @0 :UInt32;
  # The number of tasks; no more until the next TaskRoom.
}

struct DisconnectRequest {
  # A worker leaves: worker -> scheduler.

  worker @0 :Data $id(identity);
  # Which worker.
}

struct DisconnectResponse {
  # The answer to a DisconnectRequest: scheduler -> worker.

  worker @0 :Data $id(identity);
  # The worker of the request.
}

struct ClientDisconnect {
  # A client leaves or stops the cluster: client -> scheduler; scheduler -> worker (shutdown).

  disconnectType @0 :DisconnectType;
  # Which of the two.

  enum DisconnectType {
    disconnect @0;  # Only this client leaves.
    shutdown @1;    # The whole cluster stops.
  }
}

struct ClientShutdownResponse {
  # The answer to a ClientDisconnect of type shutdown: scheduler -> client.

  accepted @0 :Bool;
  # False when the scheduler is protected.
}

struct StateClient {
  # Never sent.
}

struct StateObject {
  # Never sent.
}

struct StateBalanceAdvice {
  # Monitor: tasks are about to be taken back from a worker.

  workerId @0 :Data $id(identity);
  # The worker that has too many.

  taskIds @1 :List(Data) $id(task);
  # The tasks.
}

struct StateScheduler {
  # Monitor, every second: the state of the scheduler and its peers.

  binder @0 :Status.BinderStatus;
  # Messages counted on its main socket.

  scheduler @1 :Status.Resource;
  # The resources that the scheduler process uses.

  rssFree @2 :UInt64;
  # Available memory of its machine in bytes.

  clientManager @3 :Status.ClientManagerStatus;
  # Its clients.

  objectManager @4 :Status.ObjectManagerStatus;
  # Its objects.

  taskManager @5 :Status.TaskManagerStatus;
  # Its tasks.

  workerManager @6 :Status.WorkerManagerStatus;
  # Its workers.
}

struct StateWorker {
  # Monitor: a worker joined or left.

  workerId @0 :Data $id(identity);
  # Which worker.

  message @1 :Data;
  # `connected` or `disconnected` in ASCII.
}

struct StateTask {
  # Monitor: a task changed its state.

  taskId @0 :Data $id(task);
  # Which task.

  functionName @1 :Data;
  # The name of its function object.

  status @2 :CommonType.TaskStatus;
  # Its new state.

  worker @3 :Data $id(identity);
  # The worker that has it while it runs, otherwise empty.

  metadata @4 :Data;
  # The profile result once it is finished, otherwise empty.
}

struct StateGraphTask {
  # Monitor: a node of a graph that was submitted.

  graphTaskId @0 :Data $id(task);
  # The graph.

  taskId @1 :Data $id(task);
  # The node.

  nodeTaskType @2 :NodeTaskType;
  # Whether it is a target.

  parentTaskIds @3 :List(Data) $id(task);
  # The nodes that it needs.

  enum NodeTaskType {
    normal @0;  # An intermediate node.
    target @1;  # One of the graph's targets.
  }
}

struct MonitorRequest $extension {
  # Requests reports for a monitor: monitor -> scheduler (docs/protocol.md#monitors).

  credit @0 :UInt32;
  # How many more MonitorReports may be sent to it.

  wantsEvents @1 :Bool;
  # Whether to report each task that finishes.

  wantsFailures @2 :Bool;
  # Whether to report failures.

  failuresAfter @3 :UInt64;
  # The number of the last failure that the monitor has; 0: send all that are kept. Used only in
  # the first request of a connection that has wantsFailures.

  wantsGraphs @4 :Bool;
  # Whether states list graphs.

  wantsPeers @5 :Bool;
  # With wantsEvents: whether to report each worker and client that joins or leaves.
}

struct MonitorReport $extension {
  # A report to a monitor: scheduler -> monitor. Uses one credit.

  states @0 :List(MonitorState);
  # The complete state, at most one: once per second.

  events @1 :List(TaskEvent);
  # Tasks that have finished, in this order; at most 500.

  lostEvents @2 :UInt64;
  # How many were omitted here: the monitor had no credit, or too many tasks finished per second.
  # Includes changes of `peers`.

  failures @3 :List(TaskFailure);
  # Tasks that have failed, in this order; at most 50.

  lostFailures @4 :UInt64;
  # How many were omitted before these: they are no longer kept.

  peers @5 :List(PeerChange);
  # Workers and clients that have joined or left, in this order; at most 100. Only with wantsPeers.

  hasAllPeers @6 :Bool;
  # Whether no change of `peers` is missing. If false, some can only be found by comparing states.
}

struct PeerChange $extension {
  # A worker or a client, excluding monitors, has joined or left.

  hasLeft @0 :Bool;
  # Whether it has left; otherwise it has joined.

  after @1 :UInt32;
  # How many of the `events` of the same report came before.

  worker @2 :List(WorkerReport);
  # The worker as it was then; empty: a client.

  client @3 :List(ClientReport);
  # The client as it was then; empty: a worker.
}

struct MonitorState $extension {
  # The complete state.

  scheduler @0 :Status.Resource;
  # The resources that the process of the scheduler uses.

  rssFree @1 :UInt64;
  # Available memory of its machine in bytes.

  waiting @2 :UInt64;
  # Tasks that wait for a worker, including nodes of graphs that are ready to run.

  running @3 :UInt64;
  # Tasks assigned to workers.

  ended @4 :List(EndedCount);
  # Tasks that have finished since the scheduler started, by status.

  workers @5 :UInt32;
  # How many workers there are.

  firstWorker @6 :UInt32;
  # The index of the first worker in `workerReports`, in the order in which they joined; from 0.

  workerReports @7 :List(WorkerReport);
  # At most 250 of them. If there are more, the next message contains the next ones.

  clients @8 :UInt32;
  # How many clients there are, excluding monitors.

  firstClient @9 :UInt32;
  # The same as `firstWorker`.

  clientReports @10 :List(ClientReport);
  # The same as `workerReports`.

  functions @11 :List(FunctionReport);
  # Functions by name, those with the most finished tasks first; at most 200.

  waitingCounts @12 :List(WaitingCount);
  # Why tasks wait; largest counts first, at most 200.

  objects @13 :UInt32;
  # How many objects the scheduler stores.

  objectBytes @14 :UInt64;
  # Their total size in bytes.

  uptimeMS @15 :Float64;
  # For how long the scheduler has run, in milliseconds.

  submittedPerS @16 :Float64;
  # Tasks that arrived, including nodes of graphs, per second in the last full second.

  endedPerS @17 :Float64;
  # Tasks that finished, with any status, likewise.

  failedPerS @18 :Float64;
  # Of these, those that failed (`failed`, `workerDied`), likewise.

  turnP99MS @19 :Float64;
  # The 99th percentile of how long the scheduler's event loop worked without a pause, in
  # milliseconds, over about the last ten seconds; 0: not measured.

  binder @20 :Status.BinderStatus;
  # How many messages it has received and sent, by the names of their structs.

  lost @21 :UInt32;
  # How many workers were lost in the last ten minutes and have not returned.

  lostWorkers @22 :List(LostWorker);
  # The last workers that were lost in the last ten minutes, oldest first; at most 100.

  graphCount @23 :UInt32;
  # How many graphs there are that have not ended.

  graphs @24 :List(GraphReport);
  # Only with wantsGraphs: the oldest unfinished graphs, at most 50, and graphs that have ended
  # since the last state for this monitor.

  objectLimitBytes @25 :UInt64;
  # How many bytes of objects can be stored now (docs/protocol.md#storage); 0: unknown.

  objectDiskBytes @26 :UInt64;
  # How many of `objectBytes` were moved to disk.

  objectsRefused @27 :UInt32;
  # How many objects were not stored, since the start.

  diskError @28 :Text;
  # Why no objects are moved to disk; empty: they are, or need not be.

  allocators @29 :List(AllocatorStatus);
  # In the order in which they connected, at most 100.

  storageServers @30 :List(StorageServerStatus);
  # The object storage servers, in the order in which they became known, at most 100.
}

struct StorageServerStatus $extension {
  # An object storage server, as its scheduler sees it (docs/protocol.md#servers).

  address @0 :Text;
  # By which peers reach it.

  state @1 :StorageServerState;
  # Whether it can be used.

  problem @2 :Text;
  # Why the scheduler has no connection to it; empty: it has.

  objects @3 :UInt32;
  # How many objects of this scheduler have their content there.

  objectBytes @4 :UInt64;
  # The size of that content in bytes.

  enum StorageServerState {
    # Whether an object storage server can be used.

    up @0;       # It can.
    away @1;     # The scheduler cannot reach it.
    leaving @2;  # It ends: its content is being copied to others.
  }
}

struct LostWorker $extension {
  # A worker that was lost: it did not say that it would leave.

  worker @0 :Data $id(identity);
  # The worker.

  name @1 :Text;
  # Its name for people; empty if it has none.

  host @2 :Text;
  # Its host name; empty if it did not report it.

  cause @3 :LossCause;
  # How the scheduler noticed.

  agoMS @4 :Float64;
  # When: milliseconds before the message.

  hasReturned @5 :Bool;
  # Whether it is connected again.

  tasks @6 :List(NamedTask);
  # The tasks that it had, in the order in which it received them; at most 8.

  taskCount @7 :UInt32;
  # How many tasks it had.

  enum LossCause {
    # How the loss of a worker was noticed.

    connection @0;  # Its connection was closed.
    silence @1;     # It sent nothing for too long.
  }
}

struct GraphReport $extension {
  # How far a graph has come (docs/protocol.md#graph-reports).

  graphId @0 :Data $id(task);
  # The graph.

  client @1 :Data $id(identity);
  # Its client.

  status @2 :CommonType.TaskStatus;
  # `running`: it is unfinished. Else how it ended.

  isOpen @3 :Bool;
  # More nodes may arrive.

  begunAgoMS @4 :Float64;
  # When its first nodes arrived, in milliseconds before the message.

  endedAgoMS @5 :Float64;
  # When it ended, likewise; 0: it is unfinished.

  counts @6 :GraphCounts;
  # All of its nodes.

  layers @7 :List(GraphCounts);
  # Its nodes by layer; empty: not known. At most 100: of more layers, neighbours are added up.

  nodes @8 :List(GraphNodeReport);
  # Its nodes, in the order in which they arrived, if it has at most 200.

  edges @9 :List(GraphEdge);
  # Which of these nodes need which.
}

struct GraphCounts $extension {
  # Nodes of a graph by state.

  layers @0 :UInt32;
  # How many layers these are the nodes of; 0: of all.

  waiting @1 :UInt32;
  # They wait for other nodes.

  ready @2 :UInt32;
  # They wait for a worker.

  running @3 :UInt32;
  # They are assigned to workers.

  succeeded @4 :UInt32;
  # They have succeeded.

  failed @5 :UInt32;
  # They, or nodes that they need, have failed or were cancelled.

  dropped @6 :UInt32;
  # They are no longer needed.
}

struct GraphNodeReport $extension {
  # A node of a graph.

  taskId @0 :Data $id(task);
  # Its task.

  function @1 :Text;
  # The name of its function; empty: it has none, or it is unknown.

  layer @2 :UInt16;
  # Its layer, from 0: the length of the longest path that leads to it.

  nodeState @3 :GraphNodeState;
  # Its state.

  enum GraphNodeState {
    # The states of a node, as in GraphCounts.

    waiting @0;    # It waits for other nodes.
    ready @1;      # It waits for a worker.
    running @2;    # It is assigned to a worker.
    succeeded @3;  # It has succeeded.
    failed @4;     # It, or a node that it needs, has failed or was cancelled.
    dropped @5;    # It is no longer needed.
  }
}

struct GraphEdge $extension {
  # A node needs the result of another one.

  input @0 :UInt16;
  # The index of the node whose result is needed.

  node @1 :UInt16;
  # The index of the node that needs it.
}

struct EndedCount $extension {
  # How many tasks have finished with one status.

  status @0 :CommonType.TaskStatus;
  # The status.

  tasks @1 :UInt64;
  # How many tasks.
}

struct FunctionReport $extension {
  # All functions with one name, since the scheduler started.

  name @0 :Text;
  # Empty: those without a name. `(others)`: those beyond the first 1,000 names.

  ended @1 :UInt64;
  # How many of their tasks have finished, with any status.

  failed @2 :UInt64;
  # How many of these failed.

  measured @3 :UInt64;
  # For how many tasks the duration is known.

  totalMS @4 :Float64;
  # The total duration of these.

  longestMS @5 :Float64;
  # The duration of the longest of them.

  p50MS @6 :Float64;
  # Half of the measured tasks took at most this long; within 5 percent. 0: none was measured.

  p90MS @7 :Float64;
  # The same for 90 percent of them.

  p99MS @8 :Float64;
  # The same for 99 percent of them.

  peakBytes @9 :UInt64;
  # The largest memory that one of them used, for tasks that were profiled; 0: none.
}

struct TaskEvent $extension {
  # The life of a finished task. Times are milliseconds before the message.

  taskId @0 :Data $id(task);
  # The task.

  name @1 :Text;
  # The name given to it; empty: none.

  function @2 :Text;
  # The name of its function; empty: it has none, or it is unknown.

  client @3 :Data $id(identity);
  # Its client; empty: the client has left.

  worker @4 :Data $id(identity);
  # The last worker that had it; empty: no worker had it.

  status @5 :CommonType.TaskStatus;
  # How it ended.

  queuedAgoMS @6 :Float64;
  # When it started to wait for this worker; 0: unknown.

  startAgoMS @7 :Float64;
  # When the function was called, or, if that is unknown, when the worker received the task; 0: no
  # worker received it.

  endAgoMS @8 :Float64;
  # When the scheduler learned that it had finished.

  durationMS @9 :Float64;
  # How long its function took, in milliseconds; 0: unknown.

  errorName @10 :Text;
  # failed: the name of the error, if it is known.

  attempts @11 :UInt32;
  # How many workers had it.

  past @12 :List(TaskAttempt);
  # The attempts before the last one, oldest first; at most 20.
}

struct TaskFailure $extension {
  # A task that has failed. The scheduler keeps the last 1,000.

  number @0 :UInt64;
  # From 1, in the order of the failures since the scheduler started.

  taskId @1 :Data $id(task);
  # The task.

  name @2 :Text;
  # As in TaskEvent.

  function @3 :Text;
  # As in TaskEvent.

  client @4 :Data $id(identity);
  # As in TaskEvent.

  worker @5 :Data $id(identity);
  # As in TaskEvent.

  status @6 :CommonType.TaskStatus;
  # `failed` or `workerDied`.

  agoMS @7 :Float64;
  # When it failed: milliseconds before the message.

  error @8 :List(TaskError);
  # The error as reported by its worker, at most one.

  attempts @9 :UInt32;
  # As in TaskEvent.
}

struct AllocatorReport $extension {
  # What an allocator announces: allocator -> scheduler (docs/protocol.md#allocators).

  allocator @0 :AllocatorStatus;
  # Its state, which replaces the last one.
}

struct AllocatorStatus $extension {
  # A process that starts workers. Numbers are of workers.

  name @0 :Text;
  # Its name, also the first part of the `allocation` of its workers, before a slash.

  provider @1 :Text;
  # What starts them: `local`, `slurm`.

  runtime @2 :Text;
  # `python`: they run tasks of Python; else those of JavaScript.

  offers @3 :List(CommonType.TaskCapability);
  # The capabilities that they offer.

  room @4 :UInt32;
  # How many more it could ask for now.

  pending @5 :UInt32;
  # Asked for, and not there yet.

  claim @6 :UInt32;
  # About to be asked for, unless another allocator does so first.

  running @7 :UInt32;
  # There.

  isPaused @8 :Bool;
  # It starts none.

  decision @9 :AllocatorDecision;
  # Its last decision.

  why @10 :Text;
  # Its reason, in one line.

  problem @11 :Text;
  # Why its last start has failed; empty: none has, or others have succeeded since.

  enum AllocatorDecision {
    # What an allocator does.

    wait @0;     # Nothing.
    start @1;    # It starts workers.
    drain @2;    # It ends workers without tasks, or that have not come.
    backOff @3;  # It waits after failed starts.
  }
}

struct OperatorRequest $extension {
  # A question or an order of an operator: monitor -> scheduler, and scheduler -> worker
  # (docs/protocol.md#operators).

  number @0 :UInt32;
  # Chosen by the sender; repeated in the answer.

  action @1 :OperatorAction;
  # What to do.

  task @2 :Text;
  # explain, cancel, stack: the id of the task in hexadecimal digits, or its beginning.

  taskId @3 :Data $id(task);
  # stack, to a worker: the task; empty: whatever runs.

  worker @4 :Data $id(identity);
  # stack without a task, logs, drain: which worker.

  lines @5 :UInt32;
  # logs: the most lines to send. waiting, objects: the most of these, up to 1,000.

  limitMS @6 :UInt32;
  # drain: how long running tasks may take to finish, in milliseconds.

  allocator @7 :Text;
  # pause, resume: the name of the allocator.

  enum OperatorAction {
    # What an operator can ask for.

    explain @0;  # The state and the history of a task.
    cancel @1;   # Cancel a task, as its client would.
    stack @2;    # The JavaScript stack of a task or a worker.
    logs @3;     # The last lines of a worker.
    drain @4;    # Have a worker leave once it has finished what it runs.
    waiting @5;  # The tasks that have waited longest.
    objects @6;  # The largest objects that are stored.
    pause @7;    # Have an allocator start no workers.
    resume @8;   # Have it start workers again.
  }
}

struct OperatorAnswer $extension {
  # The answer to an OperatorRequest: worker -> scheduler -> monitor.

  number @0 :UInt32;
  # The number of the request.

  outcome @1 :OperatorOutcome;
  # Whether it was done.

  note @2 :Text;
  # Details for people, in one line; empty: none.

  tasks @3 :List(TaskStory);
  # explain, cancel: the task. stack, drain: what the worker runs. ambiguous: at most 10 candidates.
  # waiting: the oldest first, without nodes of graphs that are not tasks yet.

  stack @4 :List(StackFrame);
  # stack: at most 100 frames, the innermost first; none: no JavaScript was running.

  lines @5 :List(LoggedLine);
  # logs: oldest first.

  worker @6 :Data $id(identity);
  # The worker that was asked; empty: none.

  objects @7 :List(ObjectStory);
  # objects: the largest first.

  enum OperatorOutcome {
    # Whether a request was carried out.

    done @0;         # It was.
    unknown @1;      # There is no such task or worker.
    ambiguous @2;    # Several tasks begin like this.
    refused @3;      # The scheduler is protected.
    unsupported @4;  # The worker does not understand such requests, or the task has no worker.
    timedOut @5;     # The worker has not answered in time.
    busy @6;         # Too many requests at a time: ask again later.
  }
}

struct TaskStory $extension {
  # All that a scheduler knows of one task.

  taskId @0 :Data $id(task);
  # The task.

  name @1 :Text;
  # The name given to it; empty: none.

  function @2 :Text;
  # The name of its function; empty: it has none, or it is unknown.

  client @3 :Data $id(identity);
  # Its client; empty: the client has left, or it is unknown.

  status @4 :CommonType.TaskStatus;
  # `inactive`: it waits. `running`: a worker has it. Else `canceling`, or how it ended.

  reason @5 :CommonType.WaitReason;
  # inactive: why it waits.

  needs @6 :Text;
  # Its requirements that no worker offers: `gpu=1, linux`. Only with the reason noCapability; in the
  # answer to waiting, all that it requires.

  forMS @7 :Float64;
  # How long it has been in this state, in milliseconds; 0: unknown.

  dependsOn @8 :List(NamedTask);
  # The unfinished nodes whose results it needs, at most 20. Only with the reason dependency.

  attempts @9 :List(TaskAttempt);
  # The workers that had it, oldest first, and the one that has it; at most 20.

  attemptCount @10 :UInt32;
  # How many workers had it.

  error @11 :List(TaskError);
  # The error with which it failed, at most one.

  isPython @12 :Bool;
  # It has not ended, and its function is of Python.
}

struct StackFrame $extension {
  # A call that was running.

  function @0 :Text;
  # The name of the function; empty: it has none.

  file @1 :Text;
  # The path or URL of its script.

  line @2 :UInt32;
  # The line that was running, from 1.

  column @3 :UInt32;
  # Where in this line, from 1.
}

struct NamedTask $extension {
  # A task with its name.

  taskId @0 :Data $id(task);
  # The task.

  name @1 :Text;
  # The name of its function; empty: it has none, or it is unknown.
}

struct ObjectStory $extension {
  # An object that the scheduler stores.

  objectId @0 :Data $id(object);
  # Which object.

  name @1 :Text;
  # The name that its client gave it; that of the function; or empty.

  objectBytes @2 :UInt64;
  # The size of its content.

  owner @3 :Data $id(identity);
  # A client that uses it; empty: none, it is kept until its retention ends.

  users @4 :UInt32;
  # How many clients and graphs use it.

  holders @5 :List(Data) $id(identity);
  # At most 20 workers that may have a copy.

  holderCount @6 :UInt32;
  # How many workers may have one.

  forMS @7 :Float64;
  # How long ago it was stored first, in milliseconds.

  place @8 :ObjectPlace;
  # Where its content is.

  server @9 :Text;
  # With `server`: the address of the object storage server; else empty.

  enum ObjectPlace {
    # Where the content of an object is.

    memory @0;  # In the memory of the scheduler.
    shm @1;     # In a file in shared memory, on the machine of the scheduler.
    disk @2;    # In another file there.
    server @3;  # On an object storage server.
  }
}

struct LoggedLine $extension {
  # A line that a worker has logged, or that its tasks have printed.

  atMS @0 :Float64;
  # When: milliseconds since 1970, by the clock of the worker.

  source @1 :LineSource;
  # Where it was written.

  text @2 :Text;
  # At most 4,096 characters of the line, without its end.

  enum LineSource {
    # Where a line was written.

    log @0;     # The log of the worker.
    stdout @1;  # The standard output of its processor.
    stderr @2;  # The standard error of its processor.
  }
}

struct ProcessorInitialized {
  # Only inside a 1.9.9 worker: a processor has started.
}

struct Message {
  # One frame: exactly one of these.

  union {
    task @0 :Task;
    taskCancel @1 :TaskCancel;
    taskResult @2 :TaskResult;
    graphTask @3 :GraphTask;
    graphTaskCancel @4 :GraphTaskCancel;
    objectInstruction @5 :ObjectInstruction;
    objectRequest @6 :ObjectRequest;
    objectResponse @7 :ObjectResponse;
    clientHeartbeat @8 :ClientHeartbeat;
    clientHeartbeatEcho @9 :ClientHeartbeatEcho;
    workerHeartbeat @10 :WorkerHeartbeat;
    workerHeartbeatEcho @11 :WorkerHeartbeatEcho;
    disconnectRequest @12 :DisconnectRequest;
    disconnectResponse @13 :DisconnectResponse;
    stateClient @14 :StateClient;
    stateObject @15 :StateObject;
    stateBalanceAdvice @16 :StateBalanceAdvice;
    stateScheduler @17 :StateScheduler;
    stateWorker @18 :StateWorker;
    stateTask @19 :StateTask;
    stateGraphTask @20 :StateGraphTask;
    clientDisconnect @21 :ClientDisconnect;
    clientShutdownResponse @22 :ClientShutdownResponse;
    processorInitialized @23 :ProcessorInitialized;
    taskUpdate @24 :TaskUpdate;
    taskRoom @25 :TaskRoom;
    taskOutput @26 :TaskOutput;
    taskInquiry @27 :TaskInquiry;
    taskExplanation @28 :TaskExplanation;
    monitorRequest @29 :MonitorRequest;
    monitorReport @30 :MonitorReport;
    operatorRequest @31 :OperatorRequest;
    operatorAnswer @32 :OperatorAnswer;
    objectFiles @33 :ObjectFiles;
    sharedObject @34 :SharedObject;
    storageServers @35 :StorageServers;
    allocatorReport @36 :AllocatorReport;
    objectLoss @37 :ObjectLoss;
  }
}
