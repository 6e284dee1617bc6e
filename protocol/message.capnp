# The messages: everything that a scheduler, its clients, its workers and its monitors tell each
# other. Every field is documented in docs/protocol.md.

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
  # For people; empty: the name of the function.

  timeoutMs @8 :UInt32 $extension;
  # It may run for so long; 0 = for ever.

  retries @9 :UInt32 $extension;
  # How often it is run again after it has failed.

  workerDeathLimit @10 :UInt32 $extension;
  # It fails with workerDied when so many workers were lost with it; 0 = the scheduler's default.

  attempt @11 :UInt32 $extension;
  # How often it was begun before. Set by schedulers.

  keepsResult @12 :Bool $extension;
  # The worker had better keep a result that becomes an object: another task needs it. Set by
  # schedulers.

  mayHaveRun @13 :Bool $extension;
  # Another scheduler process had it before: a worker may have it still. Set by clients.

  output @14 :OutputPlace $extension;
  # Where what it prints goes (docs/protocol.md#output).

  outputClient @15 :Data $id(identity) $extension;
  # forward: the client that prints it, where that is not `source`.

  enum OutputPlace {
    # Where the output of a task goes.

    log @0;      # Into the log of its worker.
    forward @1;  # To the client, which prints it.
    off @2;      # Nowhere.
  }

  struct Argument {
    # One argument of a task.

    type @0 :ArgumentType;
    # What `data` is.

    data @1 :Data;
    # A task id, an object id or a serialized value, by `type`.

    enum ArgumentType {
      task @0;                 # The id of another node of the same graph. Only inside a GraphTask.
      objectID @1;             # The id of an object.
      inline @2 $extension;    # The serialized value itself (docs/protocol.md#inline).
      sharedObjectID @3 $extension;  # As objectID; tasks share the value and must not change it.
      sharedInline @4 $extension;    # As inline; it is the result of another task.
    }
  }
}

struct TaskCancel {
  # Drop a task: client -> scheduler; scheduler -> worker.

  taskId @0 :Data $id(task);
  # Which task.

  flags @1 :TaskCancelFlags;
  # How.

  struct TaskCancelFlags {
    # How a task is cancelled.

    force @0 :Bool;
    # Also when it runs: its processor is killed.

    retrieveTaskObject @1 :Bool;
    # Asks for the task back in the answer. Always false: a 1.9.9 worker dies of it.
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
  # The object that holds the result or the error; empty where there is none or it is inline.

  inlineResults @4 :List(Data) $extension;
  # The serialized result or error itself, instead of an object (docs/protocol.md#inline).

  worker @5 :Data $id(identity) $extension;
  # The worker that ran it.

  failedTaskId @6 :Data $id(task) $extension;
  # Of a node of a graph that failed because another did: that other one.

  attempt @7 :UInt32 $extension;
  # That of the Task that this answers.

  attempts @8 :List(TaskAttempt) $extension;
  # Those before the one that this answers, the oldest first. Set by schedulers.

  error @9 :List(TaskError) $extension;
  # failed: the error as text, for monitors; at most one (docs/protocol.md#failures).
}

struct TaskError $extension {
  # What an error says, for people.

  name @0 :Text;
  # Its name: `TypeError`. At most 256 characters.

  message @1 :Text;
  # Its message, at most 1,024 characters.

  stack @2 :Text;
  # Its stack, name and message included, at most 4,096 characters.
}

struct TaskAttempt $extension {
  # A worker had a task (docs/protocol.md#explanation).

  worker @0 :Data $id(identity);
  # Which worker.

  outcome @1 :AttemptOutcome;
  # What came of it.

  agoMS @2 :UInt32;
  # How long ago the worker was given the task, in milliseconds.

  forMS @3 :UInt32;
  # For how long it had it, or has had it so far.

  enum AttemptOutcome {
    # What came of an attempt.

    unfinished @0;  # The worker has the task, and has not begun it as far as is known.
    running @1;     # It has begun it.
    failed @2;      # The function failed, and the task was run again.
    workerLost @3;  # The worker left, or was lost.
  }
}

struct TaskInquiry $extension {
  # What is with a task: client -> scheduler (docs/protocol.md#explanation).

  taskId @0 :Data $id(task);
  # The task, or a node of a graph of this client.
}

struct TaskExplanation $extension {
  # The answer to a TaskInquiry: scheduler -> client.

  taskId @0 :Data $id(task);
  # That of the question.

  state @1 :ExplainedState;
  # Where the task is.

  reason @2 :CommonType.WaitReason;
  # waiting: why.

  needs @3 :Text;
  # What it asks for that nobody offers: `gpu=1, linux`. Only with the reason noCapability.

  forMS @4 :UInt32;
  # For how long it has been where it is, in milliseconds; 0 where that is not measured.

  dependsOn @5 :List(Data) $id(task);
  # The nodes whose results it needs and that have not ended, at most 20. Only with the reason dependency.

  attempts @6 :List(TaskAttempt);
  # The workers that had it, the oldest first, and the one that has it; at most 20.

  enum ExplainedState {
    # Where a task is.

    unknown @0;    # The scheduler does not have it (any more).
    waiting @1;    # It waits for a worker, or for other tasks.
    assigned @2;   # A worker has it.
    canceling @3;  # It was cancelled, and its worker has not answered.
  }
}

struct TaskUpdate $extension {
  # What becomes of a task that has not ended: worker -> scheduler -> client
  # (docs/protocol.md#task-updates).

  taskId @0 :Data $id(task);
  # The task.

  update @1 :TaskUpdateType;
  # What has changed.

  done @2 :Float64;
  # progress: how much of it is done; waiting: how often it has lost its process while it waited.

  total @3 :Float64;
  # progress: how much there is; 0 = unknown.

  enum TaskUpdateType {
    waiting @0;   # It only waits for tasks that it has submitted itself.
    resumed @1;   # It goes on.
    progress @2;  # It tells how far it is.
    running @3;   # It has begun.
    queued @4;    # It had begun, and waits for a worker again.
  }
}

struct TaskOutput $extension {
  # What a task has printed: worker -> scheduler -> client (docs/protocol.md#output).

  taskId @0 :Data $id(task);
  # The task.

  client @1 :Data $id(identity);
  # The client that prints it.

  name @2 :Text;
  # What the task is called, for people.

  stream @3 :OutputStream;
  # Where the task has printed it.

  content @4 :Data;
  # The bytes; may begin and end anywhere in a line.

  droppedBytes @5 :UInt64;
  # How much of the output for this client was dropped on the way since it was told last.

  isLast @6 :Bool;
  # The task has ended, here: nothing of this run follows.

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
  # The nodes whose results the client wants.

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
  # What the client's process uses.

  latencyUS @1 :UInt32;
  # Half of the last heartbeat's round trip, in microseconds; 0 before the first echo.

  features @2 :UInt64 $extension $bitSet;
  # What the client understands (docs/protocol.md#features).

  runtime @3 :Text $extension;
  # What runs its functions, for example `node/20.20.2`; absent means `python`.

  worker @4 :Data $id(identity) $extension;
  # The worker inside of whose tasks this client lives; empty: of none.

  wantsReport @5 :Bool $extension;
  # The echo shall have a report.

  info @6 :List(Status.PeerInfo) $extension;
  # In the first heartbeat of a connection: one, of the client's process; else none.

  wantsPeers @7 :Bool $extension;
  # The report shall tell of workers and clients, too.
}

struct ClientHeartbeatEcho {
  # The answer to each ClientHeartbeat: scheduler -> client.

  schedulerId @0 :Data $id(scheduler) $extension;
  # Random id of this scheduler process. A change means that it was restarted.

  features @1 :UInt64 $extension $bitSet;
  # What the scheduler understands (docs/protocol.md#features).

  reports @2 :List(SchedulerReport) $extension;
  # One if the client has asked for it, else none (docs/protocol.md#report).

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
  # How long that has been the reason, in milliseconds; 0 where it is not measured.

  needs @3 :Text;
  # What they ask for that nobody offers: `gpu=1, linux`. Only with the reason noCapability.
}

struct SchedulerReport $extension {
  # What a scheduler is and has, for somebody who looks after it.

  version @0 :Text;
  # Of the package: `0.1.0`.

  runtime @1 :Text;
  # What it runs on, for example `node/20.20.2`.

  clockMS @2 :UInt64;
  # Its clock when it answered: milliseconds since 1970.

  monitorAddress @3 :Text;
  # Where its monitors connect, as it has bound it: `tcp://0.0.0.0:2347`.

  workers @4 :UInt32;
  # How many workers there are.

  suitable @5 :UInt32;
  # Of them those that run the functions of the client that has asked.

  idle @6 :UInt32;
  # Of these those that have nothing to do.

  workerReports @7 :List(WorkerReport);
  # The workers in the order in which they came, at most 1,000; none unless they were asked for.

  clientReports @8 :List(ClientReport);
  # The same of the clients; those that only ask for reports are not among them.

  clients @9 :UInt32;
  # How many such clients there are.

  waiting @10 :List(WaitingCount);
  # Why tasks wait, if peers were asked for; the most first, at most 200.
}

struct WaitingCount $extension {
  # Tasks of one function that wait in the scheduler for the same reason.

  reason @0 :CommonType.WaitReason;
  # Why they wait.

  needs @1 :Text;
  # What they ask for: `gpu=1, linux`; empty: nothing.

  function @2 :Text;
  # The name of their function; empty: it has none, or it is not known.

  tasks @3 :UInt32;
  # How many there are.

  forMS @4 :UInt32;
  # For how long the first of them has waited, about, in milliseconds; 0 where that is not measured.
}

struct WorkerReport $extension {
  # A worker, as the scheduler knows it.

  worker @0 :Status.WorkerStatus;
  # The same as for monitors.

  runtime @1 :Text;
  # What its heartbeats say; empty: Python.

  agentId @2 :Text;
  # The same for all workers that share their units.

  capabilities @3 :List(CommonType.TaskCapability);
  # What it offers.

  isLeaving @4 :Bool;
  # It takes no further tasks.

  info @5 :List(Status.PeerInfo);
  # One; none of a worker that has said nothing, as those of 1.9.9.

  running @6 :List(Status.RunningTask);
  # What it said last that it runs.
}

struct ClientReport $extension {
  # A client, as the scheduler knows it.

  client @0 :Data $id(identity);
  # Which client.

  runtime @1 :Text;
  # What its heartbeats say; empty: Python.

  info @2 :List(Status.PeerInfo);
  # One; none of a client that has said nothing, as those of 1.9.9.

  tasks @3 :UInt32;
  # Its unfinished tasks and graphs.

  worker @4 :Data $id(identity);
  # The worker inside of whose tasks it lives; empty: of none.
}

struct WorkerHeartbeat {
  # A worker is alive: worker -> scheduler.

  agent @0 :Status.Resource;
  # What the agent process uses.

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
  # What the worker understands (docs/protocol.md#features).

  runtime @7 :Text $extension;
  # What runs functions, for example `node/20.20.2`; absent means `python`.

  capabilities @8 :List(CommonType.TaskCapability) $extension;
  # What it offers to tasks that ask for it.

  tasks @9 :List(Data) $id(task) $extension;
  # In the first heartbeat of a connection: what it still has from before (docs/protocol.md#return).

  isLeaving @10 :Bool $extension;
  # It takes no further tasks and gives back what it has not begun.

  agentId @11 :Text $extension;
  # The same for all workers that share their units (docs/protocol.md#capabilities); absent: none do.

  info @12 :List(Status.PeerInfo) $extension;
  # In the first heartbeat of a connection: one, of the worker; else none.

  running @13 :List(Status.RunningTask) $extension;
  # What it runs and has for a while, as it was begun; at most 32. Only to schedulers with bit 6.
}

struct WorkerHeartbeatEcho {
  # The answer to each WorkerHeartbeat: scheduler -> worker.

  schedulerId @0 :Data $id(scheduler) $extension;
  # Random id of this scheduler process. A change means that it was restarted.

  features @1 :UInt64 $extension $bitSet;
  # What the scheduler understands (docs/protocol.md#features).
}

struct ObjectInstruction {
  # What to do with objects: client or worker -> scheduler; scheduler -> worker (delete).

  instructionType @0 :ObjectInstructionType;
  # Create or delete.

  objectUser @1 :Data $id(identity);
  # The client that owns the objects; the receiving worker in deletes sent by a scheduler.

  objectContent @2 :CommonType.ObjectContent;
  # create: all four lists; delete: only the ids; clear: nothing.

  enum ObjectInstructionType {
    create @0;  # Store the objects, or use them too.
    delete @1;  # The user does not need the objects any more.
    clear @2;   # Never on the wire.
  }
}

struct ObjectRequest {
  # Send me objects: client or worker -> scheduler.

  requestType @0 :ObjectRequestType;
  # Always get.

  objectIds @1 :List(Data) $id(object);
  # Which objects. Order and duplicates matter to the answer.

  enum ObjectRequestType {
    get @0;  # The only one.
  }
}

struct ObjectResponse {
  # The answer to an ObjectRequest: scheduler -> client or worker.

  responseType @0 :ObjectResponseType;
  # What the list of ids is.

  objectContent @1 :CommonType.ObjectContent;
  # The objects; see docs/protocol.md#objects for what the lists have when some do not exist.

  enum ObjectResponseType {
    content @0;         # Of objects that exist.
    objectNotExist @1;  # Of objects that do not. A 1.9.9 worker dies of it.
  }
}

struct TaskRoom $extension {
  # How many tasks a client may send that has had one refused: scheduler -> client
  # (docs/protocol.md#room).

  tasks @0 :UInt32;
  # So many, and no more until there is room again.
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
  # Monitor, every second: the scheduler and everything it knows.

  binder @0 :Status.BinderStatus;
  # Messages counted on its main socket.

  scheduler @1 :Status.Resource;
  # What the scheduler process uses.

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
  # Whether the client wants its result.

  parentTaskIds @3 :List(Data) $id(task);
  # The nodes that it needs.

  enum NodeTaskType {
    normal @0;  # A node in between.
    target @1;  # One of the graph's targets.
  }
}

struct MonitorRequest $extension {
  # A monitor wants reports: monitor -> scheduler (docs/protocol.md#monitors).

  credit @0 :UInt32;
  # So many more MonitorReports may be sent to it.

  wantsEvents @1 :Bool;
  # Whether it wants to know of each task that ends.

  wantsFailures @2 :Bool;
  # Whether it wants to know of failures.

  failuresAfter @3 :UInt64;
  # The number of the last failure that it has; 0: it wants all that are kept. Counts in the first
  # request of a connection that wants failures.
}

struct MonitorReport $extension {
  # What a monitor is told: scheduler -> monitor. Takes one credit.

  states @0 :List(MonitorState);
  # The state of everything, at most one: once a second.

  events @1 :List(TaskEvent);
  # Tasks that have ended, in this order; at most 500.

  lostEvents @2 :UInt64;
  # So many were left out before these: it had no credit for so long that they were forgotten.

  failures @3 :List(TaskFailure);
  # Tasks that have failed, in this order; at most 50.

  lostFailures @4 :UInt64;
  # So many were left out before these: they are not kept any more.
}

struct MonitorState $extension {
  # The state of everything.

  scheduler @0 :Status.Resource;
  # What the process of the scheduler uses.

  rssFree @1 :UInt64;
  # Memory that its machine could still give, in bytes.

  waiting @2 :UInt64;
  # Tasks that wait for a worker, nodes of graphs included that could run.

  running @3 :UInt64;
  # Tasks that a worker has.

  ended @4 :List(EndedCount);
  # Tasks that have ended since the scheduler has started, by status.

  workers @5 :UInt32;
  # How many workers there are.

  firstWorker @6 :UInt32;
  # Which of them `workerReports` begins with, in the order in which they came; from 0.

  workerReports @7 :List(WorkerReport);
  # At most 1,000 of them. Of more, the next message has the next ones.

  clients @8 :UInt32;
  # How many clients there are, without monitors.

  firstClient @9 :UInt32;
  # The same as `firstWorker`.

  clientReports @10 :List(ClientReport);
  # The same as `workerReports`.

  functions @11 :List(FunctionReport);
  # Functions by name, those first of which most tasks have ended; at most 200.

  waitingCounts @12 :List(WaitingCount);
  # Why tasks wait; the most first, at most 200.

  objects @13 :UInt32;
  # How many objects the scheduler stores.

  objectBytes @14 :UInt64;
  # How many bytes they have together.
}

struct EndedCount $extension {
  # How many tasks have ended in one way.

  status @0 :CommonType.TaskStatus;
  # How they ended.

  tasks @1 :UInt64;
  # How many did.
}

struct FunctionReport $extension {
  # All functions of one name, since the scheduler has started.

  name @0 :Text;
  # Empty: those without a name. `(others)`: those beyond the first 1,000 names.

  ended @1 :UInt64;
  # How many of their tasks have ended, in whatever way.

  failed @2 :UInt64;
  # How many of these failed.

  measured @3 :UInt64;
  # Of how many the time is known that they took.

  totalMS @4 :Float64;
  # How long these took together.

  longestMS @5 :Float64;
  # How long the longest of them took.
}

struct TaskEvent $extension {
  # The story of a task that has ended. Times are milliseconds before the message.

  taskId @0 :Data $id(task);
  # The task.

  name @1 :Text;
  # The name that it came with; empty: none.

  function @2 :Text;
  # The name of its function; empty: it has none, or it is not known.

  client @3 :Data $id(identity);
  # Its client; empty: that has left.

  worker @4 :Data $id(identity);
  # The worker that had it last; empty: none had.

  status @5 :CommonType.TaskStatus;
  # How it ended.

  queuedAgoMS @6 :Float64;
  # When it began to wait for this worker; 0: that is not known.

  startAgoMS @7 :Float64;
  # When the function was called, or, where that is not known, when the worker got the task; 0: none
  # got it.

  endAgoMS @8 :Float64;
  # When the scheduler knew that it had ended.

  durationMS @9 :Float64;
  # How long its function took; 0: that is not known.

  errorName @10 :Text;
  # failed: the name of the error, if it is known.

  attempts @11 :UInt32;
  # How many workers have had it.
}

struct TaskFailure $extension {
  # A task that has failed. The scheduler keeps the last 1,000.

  number @0 :UInt64;
  # From 1, in the order of the failures, since the scheduler has started.

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
  # What its worker has said of the error, at most one.

  attempts @9 :UInt32;
  # As in TaskEvent.
}

struct ProcessorInitialized {
  # Only inside of a 1.9.9 worker: a processor has started.
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
  }
}
