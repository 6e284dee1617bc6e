// Results that the scheduler may not have received because a connection was lost: those of tasks
// that ended while there was no connection, and those that were sent just before. They are the
// answer when their task arrives again, which then need not run again. docs/protocol.md#return

import { assert } from '../../../base/assert.js'
import { copyOf } from '../../../base/bytes.js'
import type { Identity, TaskId } from '../../../base/ids.js'
import type { TaskPast, TaskResult } from '../../../wire/message.js'
import { fileOf, type ObjectFile } from '../../../wire/object-content.js'
import { countOf, nthTaskId } from '../../../wire/run.js'
import { bytesOf, partOfResult, withoutBytes } from './result.js'
import { idsOf, pastOf, type WorkerTask } from './task.js'

/** A task that took less time is run again rather than kept, in milliseconds. */
const MIN_DURATION_MS = 50

/** At most this many results are kept, */
const MAX_RESULTS = 10_000

/** and at most this many bytes of them. */
const MAX_BYTES = 64 * 1024 ** 2

/** Eviction goes down to this share of both limits, so that it does not happen for each result. */
const KEPT_SHARE = 7 / 8

/** What a result takes in addition to its content. */
const RESULT_OVERHEAD_BYTES = 512

/** Smaller chunks are views of a read buffer, which they would keep in memory. */
const LARGE_CHUNK_BYTES = 16 * 1024

/** A result that is kept. */
interface KeptResult {
  readonly result: TaskResult
  /** The client that submitted the task. */
  readonly source: Identity
}

/** The results of one task, or of a run of tasks, in a TaskResult. */
export type SentResults = Pick<TaskResult, 'taskId' | 'count'>

interface Entry extends KeptResult {
  readonly past: TaskPast
  readonly bytes: number
  /** The number of heartbeats that the scheduler may have read before it. */
  readonly heartbeatCount: number
}

/** The results of one worker that may be requested again. */
export class KeptResults {
  /** Sent on this connection, but not confirmed as read by the scheduler. In order. */
  readonly #unconfirmed = new Map<TaskId, Entry>()
  /** The number of TaskResults that heartbeats overtake, by task. Invariant: at least 1. */
  readonly #held = new Map<TaskId, number>()
  /** From before this connection, or not awaited. In order. */
  readonly #kept = new Map<TaskId, Entry>()
  readonly #onFile: (file: ObjectFile, isKept: boolean) => void
  #bytes = 0
  #heartbeatCount = 0
  #echoCount = 0

  /** `onFile`: a result is kept that is in a file, or is not any more. */
  constructor(onFile: (file: ObjectFile, isKept: boolean) => void = () => {}) {
    this.#onFile = onFile
  }

  /** The number of results that were not sent on this connection. */
  get size(): number {
    return this.#kept.size
  }

  /** Their tasks. */
  *pasts(): Iterable<TaskPast> {
    for (const { past } of this.#kept.values()) yield past
  }

  /** Tasks have ended that the scheduler is not waiting for. */
  keep(result: TaskResult, task: WorkerTask): void {
    for (const one of eachOf(result)) {
      this.#forget(one.taskId)
      this.#add(this.#kept, one, task)
    }
  }

  /** A result was sent. It is kept until it has certainly arrived, if it is expensive enough. */
  onSent(result: TaskResult, task: WorkerTask, durationMs: number): void {
    if (this.#count > 0) for (const id of idsOf(task)) this.#forget(id)
    // For a task that failed and was retried, it would be mistaken for the second failure.
    if (result.status === 'failed' && task.retries > 0) return
    if (durationMs < MIN_DURATION_MS) return
    for (const one of eachOf(result)) this.#add(this.#unconfirmed, one, task)
  }

  /**
   * Sent results wait until their content is stored, and heartbeats overtake them; or (not
   * `isHeld`) they have left: only the echoes of later heartbeats confirm them.
   */
  onHeld(results: SentResults, isHeld: boolean): void {
    const count = countOf(results)
    for (let n = 0; n < count; n += 1) {
      const id = nthTaskId(results.taskId, n)
      const heldCount = (this.#held.get(id) ?? 0) + (isHeld ? 1 : -1)
      if (heldCount > 0) this.#held.set(id, heldCount)
      else this.#onLeft(id)
    }
  }

  /** A heartbeat was sent: its echo shows what the scheduler has read before it. */
  onHeartbeat(): void {
    this.#heartbeatCount += 1
  }

  /** The scheduler has read one more heartbeat, and all that came before that and was not held. */
  onEcho(): void {
    this.#echoCount = Math.min(this.#echoCount + 1, this.#heartbeatCount)
    for (const [id, { heartbeatCount }] of this.#unconfirmed) {
      if (heartbeatCount >= this.#echoCount) return
      if (!this.#held.has(id)) this.#forget(id)
    }
  }

  /** Results that were sent recently may be lost. */
  onDisconnected(): void {
    for (const [id, entry] of this.#unconfirmed) this.#kept.set(id, entry)
    this.#unconfirmed.clear()
    this.#held.clear()
    this.#heartbeatCount = 0
    this.#echoCount = 0
  }

  /** The task has arrived again: takes the result if it is from before this connection. */
  take(id: TaskId): KeptResult | undefined {
    const kept = this.#kept.get(id)
    this.#forget(id)
    return kept
  }

  /** Whether the result is from before this connection. */
  has(id: TaskId): boolean {
    return this.#kept.has(id)
  }

  /** The result will not be requested. False: it was not kept, or was sent on this connection. */
  drop(id: TaskId): boolean {
    if (!this.#kept.has(id)) return false
    this.#forget(id)
    return true
  }

  /** This scheduler will not request results. */
  clear(): void {
    for (const { result } of this.#entries()) this.#tellFile(result, false)
    this.#unconfirmed.clear()
    this.#kept.clear()
    this.#bytes = 0
  }

  /** Throws if sizes are wrong or a result is kept twice. */
  checkInvariants(): void {
    let bytes = 0
    for (const entry of this.#entries()) bytes += entry.bytes
    assert(bytes === this.#bytes, 'the size of the kept results is wrong')
    assert(this.#count <= MAX_RESULTS && bytes <= MAX_BYTES, 'too many results are kept')
    for (const count of this.#held.values())
      assert(count > 0, 'a result counts as held, but is not')
    for (const id of this.#kept.keys()) {
      assert(!this.#unconfirmed.has(id), 'a result is kept twice')
    }
  }

  #onLeft(id: TaskId): void {
    this.#held.delete(id)
    const entry = this.#unconfirmed.get(id)
    if (entry === undefined) return
    this.#unconfirmed.delete(id)
    this.#unconfirmed.set(id, { ...entry, heartbeatCount: this.#heartbeatCount })
  }

  get #count(): number {
    return this.#kept.size + this.#unconfirmed.size
  }

  *#entries(): Iterable<Entry> {
    yield* this.#kept.values()
    yield* this.#unconfirmed.values()
  }

  #add(entries: Map<TaskId, Entry>, result: TaskResult, task: WorkerTask): void {
    const contentBytes = bytesOf(result) + result.packed.byteLength
    const bytes = contentBytes + textBytes(result) + RESULT_OVERHEAD_BYTES
    if (bytes > MAX_BYTES) return
    const heartbeatCount = this.#heartbeatCount
    const { source } = task
    const past = pastOf(task, result.taskId)
    entries.set(result.taskId, { result: ownCopyOf(result), source, past, bytes, heartbeatCount })
    this.#bytes += bytes
    this.#tellFile(result, true)
    if (this.#bytes > MAX_BYTES || this.#count > MAX_RESULTS) this.#makeRoom()
  }

  /** The oldest results go first, those from before this connection before all others. */
  #makeRoom(): void {
    for (const { result } of this.#entries()) {
      const isRoom = this.#bytes <= MAX_BYTES * KEPT_SHARE
      if (isRoom && this.#count <= MAX_RESULTS * KEPT_SHARE) return
      this.#forget(result.taskId)
    }
  }

  #forget(id: TaskId): void {
    if (this.#count === 0) return
    for (const entries of [this.#kept, this.#unconfirmed]) {
      const entry = entries.get(id)
      if (entry === undefined) continue
      entries.delete(id)
      this.#bytes -= entry.bytes
      this.#tellFile(entry.result, false)
    }
  }

  #tellFile({ inlineResults, isInFile }: TaskResult, isKept: boolean): void {
    const file = isInFile ? fileOf(inlineResults) : undefined
    if (file !== undefined) this.#onFile(file, isKept)
  }
}

function textBytes({ error }: TaskResult): number {
  let characters = 0
  for (const { name, message, stack } of error) {
    characters += name.length + message.length + stack.length
  }
  return 2 * characters
}

/** Without the id of its object, which belongs to a scheduler that may be gone. */
function ownCopyOf(result: TaskResult): TaskResult {
  const inlineResults = result.inlineResults.map((chunk) =>
    chunk.byteLength < LARGE_CHUNK_BYTES ? copyOf(chunk) : chunk,
  )
  const packed = copyOf(result.packed)
  return { ...withoutBytes(result, result.error), inlineResults, packed }
}

/** The results of tasks that were answered together, one by one. */
function eachOf(result: TaskResult): readonly TaskResult[] {
  const count = countOf(result)
  if (count === 1) return [result]
  return Array.from({ length: count }, (_, n) => partOfResult(result, n, n + 1))
}
