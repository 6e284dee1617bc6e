// What our peers support beyond 1.9.9, as the bits of the `features` field of heartbeats and echoes
// (docs/protocol.md#features). A peer without any bits is a 1.9.9 peer.

/** Bit 0: small arguments and results travel inside Task and TaskResult. */
export const FEATURE_INLINE = 1

/** Bit 1: TaskUpdate, parents of tasks, and the options of a Task. */
export const FEATURE_TASK_UPDATES = 2

/** Bit 2: graphs in parts, with inline arguments, that can be cancelled. */
export const FEATURE_GRAPHS = 4

/**
 * Bit 3: workers that leave gracefully, report what they still hold after a lost connection, and
 * answer with the attempt of the task.
 */
export const FEATURE_RECOVERY = 8

/** Bit 4: TaskOutput, the output of tasks. */
export const FEATURE_OUTPUT = 16

/** Bit 5: why tasks wait, when they start, and clients that hold tasks back (TaskRoom). */
export const FEATURE_WAITING = 32

/** Bit 6: what peers report about themselves (PeerInfo), and what workers run. */
export const FEATURE_PEERS = 64

/** Bit 7: MonitorRequest, MonitorReport, and errors of results as text. */
export const FEATURE_MONITORS = 128

/** Bit 8: OperatorRequest and OperatorAnswer, and cancels by operators. */
export const FEATURE_OPERATORS = 256

/** Bit 9: runs: Tasks, TaskResults and TaskCancels with a count. */
export const FEATURE_RUNS = 512

/** Bit 10: a Task with the result of the Task before it as an argument. */
export const FEATURE_LINKS = 1024

/** Bit 11: objects in files, between processes on one machine (ObjectFiles). */
export const FEATURE_FILES = 2048

/** Bit 12: objects that were not stored, because there was no room (content type `refused`). */
export const FEATURE_REFUSALS = 4096

/** Bit 13: objects that clients find by a name, or that workers fetch in advance (SharedObject). */
export const FEATURE_SHARED = 8192

/** Bit 14: ObjectRequests of type `note`. */
export const FEATURE_NOTES = 16384

/** Bit 15: content of objects on object storage servers (StorageServers). */
export const FEATURE_SERVERS = 32768

/** Bit 16: of a scheduler that is only an object storage server. It runs no tasks. */
export const FEATURE_STORAGE_ONLY = 65536

/** Bit 17: AllocatorReport, and orders to allocators. */
export const FEATURE_ALLOCATORS = 131072

/** Bit 18: ObjectLoss, what is lost with an object storage server. */
export const FEATURE_LOSSES = 262144

/** All features that this version supports. */
export const OUR_FEATURES: number =
  FEATURE_INLINE |
  FEATURE_TASK_UPDATES |
  FEATURE_GRAPHS |
  FEATURE_RECOVERY |
  FEATURE_OUTPUT |
  FEATURE_WAITING |
  FEATURE_PEERS |
  FEATURE_MONITORS |
  FEATURE_OPERATORS |
  FEATURE_RUNS |
  FEATURE_LINKS |
  FEATURE_FILES |
  FEATURE_REFUSALS |
  FEATURE_SHARED |
  FEATURE_NOTES |
  FEATURE_SERVERS |
  FEATURE_ALLOCATORS |
  FEATURE_LOSSES

/** Those of peers that neither send nor receive objects. */
export const FEATURES_WITHOUT_OBJECTS: number = OUR_FEATURES & ~(FEATURE_FILES | FEATURE_SERVERS)

/** What a process says that has been given the address of an object storage server. */
export const NO_SCHEDULER_HERE =
  'this is the address of an object storage server; use that of its scheduler'

/** Whether an echo comes from an object storage server. */
export function isStorageServer({ features }: { readonly features: number }): boolean {
  return hasFeature(features, FEATURE_STORAGE_ONLY)
}

/** Whether `features` has all bits of `feature`. */
export function hasFeature(features: number, feature: number): boolean {
  return (features & feature) === feature
}
