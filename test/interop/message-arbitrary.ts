// Arbitrary messages of every kind, for properties that hold for all of them.

import fc from 'fast-check'
import { identity, objectId, schedulerId, taskId, type TaskId } from '#src/base/ids.js'
import type {
  ClientReport,
  GraphReport,
  LostWorker,
  Message,
  ObjectContent,
  PeerInfo,
  ProcessorStatus,
  Resource,
  SchedulerReport,
  Task,
  MonitorState,
  TaskAttempt,
  TaskError,
  TaskEvent,
  TaskFailure,
  TaskResult,
  TaskStory,
  TaskCapability,
  TaskStatus,
  AllocatorStatus,
  StorageServerStatus,
  WaitingCount,
  WaitingTasks,
  WorkerReport,
  WorkerStatus,
} from '#src/wire/message.js'
import { WAIT_REASON } from '#src/wire/generated/common.js'
import {
  ALLOCATOR_DECISION,
  STORAGE_SERVER_STATE,
  ATTEMPT_OUTCOME,
  GRAPH_NODE_STATE,
  EXPLAINED_STATE,
  LINE_SOURCE,
  LOSS_CAUSE,
  OPERATOR_ACTION,
  OPERATOR_OUTCOME,
  OBJECT_PLACE,
  SHARED_OBJECT_TYPE,
  TASK_UPDATE_TYPE,
} from '#src/wire/generated/message.js'

const TASK_STATUSES: readonly TaskStatus[] = [
  'success',
  'failed',
  'canceled',
  'notFound',
  'workerDied',
  'noWorker',
  'inactive',
  'running',
  'canceling',
]

const bytes = fc.oneof(fc.uint8Array({ maxLength: 40 }), fc.uint8Array({ maxLength: 3000 }))
const latin1 = fc
  .oneof(fc.uint8Array({ minLength: 16, maxLength: 24 }), fc.uint8Array({ maxLength: 60 }))
  .map((array) => Buffer.from(array).toString('latin1'))
/** Mostly plain, because some tools do not support all of the others. */
const text = fc.oneof(
  { weight: 8, arbitrary: fc.stringMatching(/^[\w.: -]{0,20}$/) },
  { weight: 1, arbitrary: fc.string({ maxLength: 20 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 20 }) },
)
const uint8 = fc.integer({ min: 0, max: 2 ** 8 - 1 })
const uint16 = fc.integer({ min: 0, max: 2 ** 16 - 1 })
const uint32 = fc.integer({ min: 0, max: 2 ** 32 - 1 })
const uint64 = fc.oneof(fc.maxSafeNat(), fc.nat())
const int64 = fc.oneof(fc.maxSafeInteger(), fc.integer())
const bool = fc.boolean()

const taskIds = latin1.map(taskId)
const objectIds = latin1.map(objectId)
const identities = latin1.map(identity)
const schedulerIds = latin1.map(schedulerId)

function list<T>(element: fc.Arbitrary<T>, maxLength = 5): fc.Arbitrary<readonly T[]> {
  return fc.array(element, { maxLength })
}

const status = fc.constantFrom(...TASK_STATUSES)

const resource: fc.Arbitrary<Resource> = fc.record({ cpu: uint16, rss: uint64 })

const capability: fc.Arbitrary<TaskCapability> = fc.record({ name: text, value: int64 })

/** Often empty, so that structs occur in both of their sizes. */
const capabilities = fc.oneof(fc.constant<readonly TaskCapability[]>([]), list(capability))
const features = fc.oneof(fc.constant(0), fc.constant(1), uint64)
const runtime = fc.oneof(fc.constant(''), text)

const processor: fc.Arbitrary<ProcessorStatus> = fc.record({
  pid: uint32,
  initialized: bool,
  hasTask: bool,
  suspended: bool,
  resource,
})

const objectContent: fc.Arbitrary<ObjectContent> = fc.record({
  objectIds: list(objectIds),
  objectTypes: list(fc.constantFrom('serializer' as const, 'object' as const, 'file' as const), 9),
  objectNames: list(bytes),
  objectBytes: list(list(bytes)),
})

const task: fc.Arbitrary<Task> = fc.record({
  kind: fc.constant('task' as const),
  taskId: taskIds,
  source: identities,
  metadata: bytes,
  funcObjectId: objectIds,
  functionArgs: list(
    fc.record({
      type: fc.constantFrom('task' as const, 'objectID' as const, 'inline' as const),
      data: bytes,
    }),
  ),
  capabilities,
  parentTaskId: fc.oneof(fc.constant(taskId('')), taskIds),
  name: fc.oneof(fc.constant(''), text),
  timeoutMs: fc.oneof(fc.constant(0), uint32),
  retries: fc.oneof(fc.constant(0), uint32),
  workerDeathLimit: fc.oneof(fc.constant(0), uint32),
  attempt: fc.oneof(fc.constant(0), uint32),
  keepsResult: bool,
  mayHaveRun: bool,
  output: fc.constantFrom('log' as const, 'forward' as const, 'off' as const),
  outputClient: fc.oneof(fc.constant(identity('')), identities),
  traceContext: fc.oneof(fc.constant(''), text),
  count: fc.oneof(fc.constant(0), uint32),
  packed: fc.oneof(fc.constant(new Uint8Array()), bytes),
})

const worker: fc.Arbitrary<WorkerStatus> = fc.record({
  workerId: identities,
  agent: resource,
  rssFree: uint64,
  free: uint32,
  sent: uint32,
  queued: uint32,
  suspended: uint8,
  lagUS: uint64,
  lastS: uint8,
  itl: text,
  processorStatuses: list(processor),
})

const messageCounts = list(fc.record({ client: text, number: uint32 }))

/** Without -0: the `capnp` tool's text form of numbers has only one zero. */
const float64 = fc.double({ noNaN: true }).map((value) => (value === 0 ? 0 : value))
const objectStory = fc.record({
  objectId: objectIds,
  name: text,
  objectBytes: uint64,
  owner: identities,
  users: uint32,
  holders: list(identities),
  holderCount: uint32,
  forMS: float64,
  place: fc.constantFrom(...OBJECT_PLACE),
  server: text,
})

const attempt: fc.Arbitrary<TaskAttempt> = fc.record({
  worker: identities,
  outcome: fc.constantFrom(...ATTEMPT_OUTCOME),
  agoMS: uint32,
  forMS: uint32,
})

const peerInfo: fc.Arbitrary<PeerInfo> = fc.record({
  name: text,
  host: text,
  machineId: text,
  pid: uint32,
  version: text,
  startedMS: uint64,
  endsMS: uint64,
  allocation: text,
  endsInMS: uint64,
})
const infos = fc.array(peerInfo, { maxLength: 2 })
const running = list(fc.record({ taskId: taskIds, forMS: uint32, name: text, function: text }))

const workerReport: fc.Arbitrary<WorkerReport> = fc.record({
  worker,
  runtime: text,
  agentId: text,
  capabilities,
  isLeaving: bool,
  info: infos,
  running,
  address: text,
})

const clientReport: fc.Arbitrary<ClientReport> = fc.record({
  client: identities,
  runtime: text,
  info: infos,
  tasks: uint32,
  worker: identities,
  objectBytes: uint64,
})

const waitingCount: fc.Arbitrary<WaitingCount> = fc.record({
  reason: fc.constantFrom(...WAIT_REASON),
  needs: text,
  function: text,
  tasks: uint32,
  forMS: uint32,
  isPython: bool,
})

const allocatorStatus: fc.Arbitrary<AllocatorStatus> = fc.record({
  name: text,
  provider: text,
  runtime: text,
  offers: capabilities,
  room: uint32,
  pending: uint32,
  claim: uint32,
  running: uint32,
  isPaused: bool,
  decision: fc.constantFrom(...ALLOCATOR_DECISION),
  why: text,
  problem: text,
})

const storageServer: fc.Arbitrary<StorageServerStatus> = fc.record({
  address: text,
  state: fc.constantFrom(...STORAGE_SERVER_STATE),
  problem: text,
  objects: uint32,
  objectBytes: uint64,
})

const lostWorker: fc.Arbitrary<LostWorker> = fc.record({
  worker: identities,
  name: text,
  host: text,
  cause: fc.constantFrom(...LOSS_CAUSE),
  agoMS: float64,
  hasReturned: bool,
  tasks: list(fc.record({ taskId: taskIds, name: text }), 2),
  taskCount: uint32,
})

const taskError: fc.Arbitrary<TaskError> = fc.record({ name: text, message: text, stack: text })

/** The common fields of events and failures. */
const endedTask = {
  taskId: taskIds,
  name: text,
  function: text,
  client: identities,
  worker: identities,
  status,
  attempts: uint32,
}

const taskEvent: fc.Arbitrary<TaskEvent> = fc.record({
  ...endedTask,
  queuedAgoMS: float64,
  startAgoMS: float64,
  endAgoMS: float64,
  durationMS: float64,
  errorName: text,
  past: list(attempt, 2),
})

const graphCounts = fc.record({
  layers: uint32,
  waiting: uint32,
  ready: uint32,
  running: uint32,
  succeeded: uint32,
  failed: uint32,
  dropped: uint32,
})

const graphReport: fc.Arbitrary<GraphReport> = fc.record({
  graphId: taskIds,
  client: identities,
  status,
  isOpen: bool,
  begunAgoMS: float64,
  endedAgoMS: float64,
  counts: graphCounts,
  layers: list(graphCounts, 3),
  nodes: list(
    fc.record({
      taskId: taskIds,
      function: text,
      layer: uint16,
      nodeState: fc.constantFrom(...GRAPH_NODE_STATE),
    }),
  ),
  edges: list(fc.record({ input: uint16, node: uint16 })),
})

const taskFailure: fc.Arbitrary<TaskFailure> = fc.record({
  ...endedTask,
  number: uint64,
  agoMS: float64,
  error: fc.array(taskError, { maxLength: 1 }),
})

const monitorState: fc.Arbitrary<MonitorState> = fc.record({
  scheduler: resource,
  rssFree: uint64,
  waiting: uint64,
  running: uint64,
  ended: list(fc.record({ status, tasks: uint64 })),
  workers: uint32,
  firstWorker: uint32,
  workerReports: list(workerReport, 2),
  clients: uint32,
  firstClient: uint32,
  clientReports: list(clientReport, 2),
  functions: list(
    fc.record({
      name: text,
      ended: uint64,
      failed: uint64,
      measured: uint64,
      totalMS: float64,
      longestMS: float64,
      p50MS: float64,
      p90MS: float64,
      p99MS: float64,
      peakBytes: uint64,
    }),
  ),
  waitingCounts: list(waitingCount, 2),
  objects: uint32,
  objectBytes: uint64,
  objectLimitBytes: uint64,
  objectDiskBytes: uint64,
  objectsRefused: uint32,
  diskError: text,
  uptimeMS: float64,
  submittedPerS: float64,
  endedPerS: float64,
  failedPerS: float64,
  turnP99MS: float64,
  binder: fc.record({ received: messageCounts, sent: messageCounts }),
  lost: uint32,
  lostWorkers: list(lostWorker, 2),
  graphCount: uint32,
  graphs: list(graphReport, 2),
  allocators: list(allocatorStatus, 2),
  storageServers: list(storageServer, 2),
})

const report: fc.Arbitrary<SchedulerReport> = fc.record({
  version: text,
  runtime: text,
  clockMS: uint64,
  monitorAddress: text,
  workers: uint32,
  suitable: uint32,
  idle: uint32,
  workerReports: list(workerReport, 3),
  clientReports: list(clientReport, 3),
  clients: uint32,
  waiting: list(waitingCount, 3),
  freeBytes: uint64,
})

const waitingTasks: fc.Arbitrary<WaitingTasks> = fc.record({
  reason: fc.constantFrom(...WAIT_REASON),
  tasks: uint32,
  forMS: uint32,
  needs: text,
  isDeadlocked: fc.boolean(),
})

const taskStory: fc.Arbitrary<TaskStory> = fc.record({
  taskId: taskIds,
  name: text,
  function: text,
  client: identities,
  status,
  reason: fc.constantFrom(...WAIT_REASON),
  needs: text,
  forMS: float64,
  dependsOn: list(fc.record({ taskId: taskIds, name: text })),
  attempts: list(attempt),
  attemptCount: uint32,
  error: fc.array(taskError, { maxLength: 1 }),
  isPython: bool,
})

const taskResult: fc.Arbitrary<TaskResult> = fc.record({
  kind: fc.constant('taskResult' as const),
  taskId: taskIds,
  status,
  metadata: bytes,
  results: list(objectIds),
  inlineResults: fc.oneof(fc.constant<readonly Uint8Array[]>([]), list(bytes)),
  worker: fc.oneof(fc.constant(identity('')), identities),
  failedTaskId: fc.oneof(fc.constant(taskId('')), taskIds),
  attempt: fc.oneof(fc.constant(0), uint32),
  attempts: list(attempt, 2),
  error: fc.array(taskError, { maxLength: 1 }),
  count: fc.oneof(fc.constant(0), uint32),
  packed: fc.oneof(fc.constant(new Uint8Array()), bytes),
  isInFile: bool,
})

/** A message of any kind, with values in the range of their fields and without `bytes`. */
export const anyMessage: fc.Arbitrary<Message> = fc.oneof(
  task,
  fc.record({
    kind: fc.constant('taskCancel' as const),
    taskId: taskIds,
    count: fc.oneof(fc.constant(0), uint32),
    flags: fc.record({ force: bool, retrieveTaskObject: bool }),
  }),
  taskResult,
  fc.record({
    kind: fc.constant('graphTask' as const),
    taskId: taskIds,
    source: identities,
    targets: list(taskIds),
    graph: list(task),
    isOpen: bool,
  }),
  fc.record({ kind: fc.constant('graphTaskCancel' as const), taskId: taskIds }),
  fc.record({
    kind: fc.constant('objectInstruction' as const),
    instructionType: fc.constantFrom('create' as const, 'delete' as const, 'clear' as const),
    objectUser: identities,
    objectContent,
  }),
  fc.record({ kind: fc.constant('objectFiles' as const), directory: text, proof: bytes }),
  fc.record({
    kind: fc.constant('sharedObject' as const),
    type: fc.constantFrom(...SHARED_OBJECT_TYPE),
    name: text,
    objectId: objectIds,
    sizeBytes: fc.maxSafeNat(),
  }),
  fc.record({
    kind: fc.constant('allocatorReport' as const),
    allocator: allocatorStatus,
  }),
  fc.record({
    kind: fc.constant('storageServers' as const),
    servers: list(fc.record({ address: text, instance: schedulerIds, freeBytes: uint64 })),
    isServer: bool,
  }),
  fc.record({
    kind: fc.constant('objectLoss' as const),
    objectIds: list(objectIds, 20),
    graphTaskIds: list(taskIds),
    nodeTaskIds: list(taskIds),
    results: list(taskResult, 2),
  }),
  fc.record({
    kind: fc.constant('objectRequest' as const),
    requestType: fc.constant('get' as const),
    objectIds: list(objectIds, 20),
  }),
  fc.record({
    kind: fc.constant('objectResponse' as const),
    responseType: fc.constantFrom('content' as const, 'objectNotExist' as const),
    objectContent,
  }),
  fc.record({
    kind: fc.constant('clientHeartbeat' as const),
    resource,
    latencyUS: uint32,
    features,
    runtime,
    worker: fc.oneof(fc.constant(identity('')), identities),
    wantsReport: bool,
    wantsPeers: bool,
    info: infos,
  }),
  fc.record({
    kind: fc.constant('taskUpdate' as const),
    taskId: taskIds,
    update: fc.constantFrom(...TASK_UPDATE_TYPE),
    done: float64,
    total: float64,
  }),
  fc.record({
    kind: fc.constant('taskOutput' as const),
    taskId: taskIds,
    client: identities,
    name: text,
    stream: fc.constantFrom('stdout' as const, 'stderr' as const),
    content: bytes,
    droppedBytes: uint64,
    isLast: bool,
  }),
  fc.record({
    kind: fc.constant('clientHeartbeatEcho' as const),
    schedulerId: schedulerIds,
    features,
    reports: fc.oneof(fc.constant<readonly SchedulerReport[]>([]), list(report)),
    waiting: fc.oneof(fc.constant<readonly WaitingTasks[]>([]), list(waitingTasks)),
  }),
  fc.record({ kind: fc.constant('taskRoom' as const), tasks: uint32 }),
  fc.record({ kind: fc.constant('taskInquiry' as const), taskId: taskIds }),
  fc.record({
    kind: fc.constant('operatorRequest' as const),
    number: uint32,
    action: fc.constantFrom(...OPERATOR_ACTION),
    task: text,
    taskId: taskIds,
    worker: identities,
    lines: uint32,
    limitMS: uint32,
    allocator: text,
  }),
  fc.record({
    kind: fc.constant('operatorAnswer' as const),
    number: uint32,
    outcome: fc.constantFrom(...OPERATOR_OUTCOME),
    note: text,
    tasks: list(taskStory),
    stack: list(fc.record({ function: text, file: text, line: uint32, column: uint32 })),
    lines: list(fc.record({ atMS: float64, source: fc.constantFrom(...LINE_SOURCE), text })),
    worker: identities,
    objects: list(objectStory),
  }),
  fc.record({
    kind: fc.constant('taskExplanation' as const),
    taskId: taskIds,
    state: fc.constantFrom(...EXPLAINED_STATE),
    reason: fc.constantFrom(...WAIT_REASON),
    needs: text,
    forMS: uint32,
    dependsOn: list(taskIds),
    attempts: list(attempt),
  }),
  fc.record({
    kind: fc.constant('monitorRequest' as const),
    credit: uint32,
    wantsEvents: bool,
    wantsFailures: bool,
    failuresAfter: uint64,
    wantsGraphs: bool,
    wantsPeers: bool,
  }),
  fc.record({
    kind: fc.constant('monitorReport' as const),
    states: fc.array(monitorState, { maxLength: 1 }),
    events: list(taskEvent, 4),
    lostEvents: uint64,
    failures: list(taskFailure, 4),
    lostFailures: uint64,
    peers: list(
      fc.record({
        hasLeft: bool,
        after: uint32,
        worker: list(workerReport, 1),
        client: list(clientReport, 1),
      }),
    ),
    hasAllPeers: bool,
  }),
  fc.record({
    kind: fc.constant('workerHeartbeat' as const),
    agent: resource,
    rssFree: uint64,
    queuedTasks: uint32,
    latencyUS: uint32,
    taskLock: bool,
    processors: list(processor),
    features,
    runtime,
    capabilities,
    tasks: fc.oneof(fc.constant<readonly TaskId[]>([]), list(taskIds)),
    isLeaving: bool,
    agentId: text,
    info: infos,
    running,
    concurrency: uint32,
    pasts: list(fc.record({ taskId: taskIds, attempt: uint32, retries: uint32 })),
  }),
  fc.record({
    kind: fc.constant('workerHeartbeatEcho' as const),
    schedulerId: schedulerIds,
    features,
  }),
  fc.record({ kind: fc.constant('disconnectRequest' as const), worker: identities }),
  fc.record({ kind: fc.constant('disconnectResponse' as const), worker: identities }),
  fc.record({ kind: fc.constant('stateClient' as const) }),
  fc.record({ kind: fc.constant('stateObject' as const) }),
  fc.record({
    kind: fc.constant('stateBalanceAdvice' as const),
    workerId: identities,
    taskIds: list(taskIds),
  }),
  fc.record({
    kind: fc.constant('stateScheduler' as const),
    binder: fc.record({ received: messageCounts, sent: messageCounts }),
    scheduler: resource,
    rssFree: uint64,
    clientManager: fc.record({
      clientToNumOfTask: list(fc.record({ client: identities, numTask: uint32 })),
    }),
    objectManager: fc.record({ numberOfObjects: uint32 }),
    taskManager: fc.record({
      unassigned: uint32,
      running: uint32,
      success: uint32,
      failed: uint32,
      canceled: uint32,
      notFound: uint32,
    }),
    workerManager: fc.record({ workers: list(worker) }),
  }),
  fc.record({ kind: fc.constant('stateWorker' as const), workerId: identities, message: bytes }),
  fc.record({
    kind: fc.constant('stateTask' as const),
    taskId: taskIds,
    functionName: bytes,
    status,
    worker: identities,
    metadata: bytes,
  }),
  fc.record({
    kind: fc.constant('stateGraphTask' as const),
    graphTaskId: taskIds,
    taskId: taskIds,
    nodeTaskType: fc.constantFrom('normal' as const, 'target' as const),
    parentTaskIds: list(taskIds),
  }),
  fc.record({
    kind: fc.constant('clientDisconnect' as const),
    disconnectType: fc.constantFrom('disconnect' as const, 'shutdown' as const),
  }),
  fc.record({ kind: fc.constant('clientShutdownResponse' as const), accepted: bool }),
  fc.record({ kind: fc.constant('processorInitialized' as const) }),
)
