// The package `scaler-ts`: everything that programs use, by name.

export { Client, type Lift } from './client/client.js'
export { currentClient } from './client/client.js'
export type { ClientOptions } from './client/options.js'
export type { LookOptions } from './client/monitor/look.js'
export { Future } from './client/future/future.js'
export { GraphFuture } from './client/graph/run.js'
export type { Graph, NodeValue } from './client/graph/reading.js'
export { literal, type Literal } from './client/graph/reading.js'
export { MapFuture, type MapItem, type MapOptions } from './client/map/future.js'
export type { MapProgress, MapProgressListener } from './client/map/progress.js'
export type { TaskOptions } from './client/submit/task-options.js'
export type { TaskAttempt, TaskExplanation } from './client/explanation.js'
export type { TaskProfile } from './client/future/profile.js'
export type { TaskProgress } from './client/future/profile.js'
export type { ObjectReference } from './client/submit/objects.js'
export type { SendObjectOptions } from './client/submit/objects.js'
export type { ResultOptions } from './client/future/future.js'
export { asCompleted, type CompletedFuture } from './client/future/wait.js'
export { gather } from './client/future/gather.js'
export { wait, type WaitOptions, type WaitResult } from './client/future/wait.js'
export { Allocator, type AllocatorStartOptions } from './allocate/allocator.js'
export type { AllocatorEnd } from './allocate/engine.js'
export type { AllocatorOptions } from './allocate/options.js'
export { Cluster } from './cluster/cluster.js'
export type { ClusterOptions, ClusterStartOptions } from './cluster/options.js'
export { SchedulerClusterCombo } from './cluster/combo.js'
export type { ComboOptions, WorkerRange } from './cluster/options.js'
export type {
  AllocatorInfo,
  ConnectedClient,
  ClusterEvent,
  ClusterInfo,
  FailureInfo,
  FunctionInfo,
  HostInfo,
  LostWorker,
  LostWorkers,
  ObjectTotals,
  MessageTotals,
  RunningInfo,
  SchedulerInfo,
  TaskCounts,
  TaskEnd,
  TaskEnded,
  TaskRates,
  WaitingInfo,
  WorkerInfo,
  WorkerState,
} from './client/monitor/cluster-info.js'
export type { ObjectInfo } from './client/monitor/operator-reply.js'
export { currentTask, type TaskContext } from './runtime/task-scope.js'
export { Scheduler, type SchedulerEnd } from './scheduler/scheduler.js'
export type { SchedulerOptions, SchedulerStartOptions } from './scheduler/scheduler-options.js'
export type { TlsOptions } from './transport/tls/options.js'
export type { AgentEnd } from './worker/agent/worker.js'
export type { AnyClass, ClassCodecOptions } from './serializer/class/codecs.js'
export type { TaskCaptures } from './serializer/function/explicit.js'
export {
  defaultSerializer,
  explainSerialization,
  registerByReference,
  registerByValue,
  registerClass,
  task,
} from './serializer/serializer.js'
export type { Serializer } from './serializer/serializer.js'
export type { LogFields, Logger } from './base/logger.js'
export {
  ClientClosedError,
  ClientShutdownError,
  ConfigError,
  ConnectError,
  DeserializeError,
  DisconnectedError,
  GraphCycleError,
  GraphKeyError,
  MissingObjectError,
  NoWorkerError,
  ProcessorDiedError,
  ProtectedModeError,
  ProtocolError,
  ScalerError,
  SerializeError,
  StorageFullError,
  TaskCancelledError,
  TaskNotFoundError,
  TaskTimeoutError,
  TimeoutError,
  WorkerDiedError,
  type ProcessorDeath,
  type ScalerErrorOptions,
  type SerializeErrorOptions,
  type StorageFullOptions,
  type StorageOwner,
  type WaitingErrorOptions,
} from './base/errors.js'
export type { WaitingReason } from './base/waiting-reason.js'
