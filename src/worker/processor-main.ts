// The program of a processor process: runs the functions of users and nothing else. Started by
// agent/processor-host.ts, which connects its pipes to the descriptors of link/frames.ts.
//
// Errors that user code leaves behind are treated as in Node: an exception in a callback or an
// unhandled rejection ends the process, and with it whatever task runs at that moment.

import { realpathSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { forgetHugePages, forgetThreads } from '../runtime/child-environment.js'
import { taskScopes } from '../runtime/task-scope.js'
import { findTracing } from '../runtime/tracing.js'
import { serveClients } from '../serializer/serializer.js'
import { codeOf } from '../transport/address.js'
import { openPipe } from '../transport/stream.js'
import { encode, encodeFrame, type Message } from '../wire/message.js'
import {
  ClaimTable,
  type GuardianMessage,
  newBoardCells,
  newClaimCells,
  TaskBoard,
} from './processor/shared-memory.js'
import { GarbageCollector, TaskMeter } from './processor/meter.js'
import type { GuardianInput } from './guardian.js'
import { killOwnGroup } from './link/lifeline.js'
import { INBOX_FD, OUTBOX_FD } from './link/frames.js'
import { Outbox } from './link/outbox.js'
import { FrameParser } from './link/pipe.js'
import { tapOutput, type PrintStream } from './processor/output-tap.js'
import { Processor } from './processor/processor.js'
import { ObjectStore } from './processor/objects.js'
import { newResultMemory, ResultBoard } from './processor/result-board.js'
import { TaskRun } from './processor/run.js'
import { TaskRunner } from './processor/runner.js'

/** How long a processor that should exit exports spans: its agent waits for a little longer. */
const MAX_FLUSH_MS = 200

/** Node starts no thread where the working directory has been deleted. */
function leaveDeletedDirectory(): void {
  try {
    // `process.cwd()` may still know its path.
    realpathSync.native('.')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') process.chdir('/')
  }
}

/** Returns a function that sends it a message. */
function startGuardian(
  cells: Int32Array,
  claimCells: Int32Array,
  results: SharedArrayBuffer,
): (message: GuardianMessage) => void {
  leaveDeletedDirectory()
  const originMs = Number(process.hrtime.bigint()) / 1e6 - performance.now()
  const isRestricted = (process as { permission?: unknown }).permission !== undefined
  const workerData: GuardianInput = { cells, claimCells, results, originMs, isRestricted }
  const guardian = new Worker(new URL('../../dist/worker/guardian.cjs', import.meta.url), {
    workerData,
    // It inherits no settings of user code or the command line.
    execArgv: [],
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
  })
  guardian.unref()
  return (message) => guardian.postMessage(message)
}

/** A stream of Node that can be made to block on its pipe, which Node does not document. */
interface Printer extends PrintStream {
  readonly _handle?: { setBlocking?(isBlocking: boolean): void }
}

const STDOUT = process.stdout as unknown as Printer
const STDERR = process.stderr as unknown as Printer

/**
 * Output is written before the next statement runs. That keeps the last output of a process however
 * it exits, and a task that prints endlessly blocks instead of filling memory.
 */
function printAtOnce(): void {
  for (const { _handle } of [STDOUT, STDERR]) _handle?.setBlocking?.(true)
}

/** Exits after the export of the last spans, if there are any. */
function exit(): void {
  const flushed = findTracing()?.flush()
  if (flushed === undefined) process.exit(0)
  void flushed.then(() => process.exit(0))
  setTimeout(() => process.exit(0), MAX_FLUSH_MS)
}

/**
 * Starts something before the first task, or exits with another note than `onExit` writes: no task
 * is to blame if no thread can be started.
 */
function orExit<T>(start: () => T, outbox: Outbox, onExit: () => void): T {
  try {
    return start()
  } catch (error) {
    const fields = { error: String(error) }
    outbox.send({ type: 'log', line: { level: 'debug', text: 'no guardian', fields } })
    outbox.send({ type: 'exitNote', note: 'unusable' })
    process.off('exit', onExit)
    process.exit(1)
  }
}

/** The outcome goes to the log of the worker. */
function collectGarbage(garbage: GarbageCollector, aboveBytes: number, outbox: Outbox): void {
  const fields = garbage.collect(aboveBytes)
  if (fields === undefined) return
  outbox.send({ type: 'log', line: { level: 'debug', text: 'collected garbage', fields } })
}

function main(): void {
  printAtOnce()
  serveClients(() => {
    const { current } = taskScopes
    return current instanceof TaskRun ? current.identities : undefined
  })
  const cells = newBoardCells()
  const claimCells = newClaimCells()
  const results = newResultMemory()
  let tellGuardian: ((message: GuardianMessage) => void) | undefined
  const outbox = new Outbox(OUTBOX_FD, killOwnGroup)
  const objects = new ObjectStore()
  const garbage = new GarbageCollector()
  const runner = new TaskRunner({
    outbox,
    meter: new TaskMeter(),
    board: new TaskBoard(cells, (message) => tellGuardian?.(message)),
    claims: new ClaimTable(claimCells),
    scopes: taskScopes,
    keep: (id, chunks) => objects.keep(id, chunks),
    moveOut: (chunks) => objects.files.put(chunks),
    results: new ResultBoard(results),
    retire: () => {
      writeExitNote()
      // Abandoned tasks may have exit handlers that would keep this process alive.
      process.kill(process.pid, 'SIGKILL')
    },
  })
  const tell = (message: Message): void => {
    outbox.add(encodeFrame(message))
    outbox.flush()
  }
  tapOutput(STDOUT, 'stdout', { stage: runner, tell })
  tapOutput(STDERR, 'stderr', { stage: runner, tell })
  const writeExitNote = (): void => {
    runner.flush()
    outbox.send({ type: 'exitNote', note: runner.exitNote })
  }
  process.on('exit', writeExitNote)
  const processor = new Processor(runner, objects, (order) => {
    if (order.type === 'guard') {
      const start = (): typeof tellGuardian => startGuardian(cells, claimCells, results)
      tellGuardian ??= orExit(start, outbox, writeExitNote)
      return
    }
    if (order.type === 'tell') return tell(order.message)
    if (order.type === 'end') {
      // The pipe closes immediately after the order.
      inbox.off('error', killOwnGroup).off('end', killOwnGroup)
      return exit()
    }
    // Frames that arrived together with the order, or since, come first.
    setImmediate(() => {
      if (runner.isIdle) collectGarbage(garbage, order.aboveBytes, outbox)
    })
  })
  const parser = new FrameParser(processor)
  const inbox = openPipe(INBOX_FD, (memory) => {
    parser.feedCopy(memory)
    runner.run()
  })
  // The agent has exited without an order to end.
  inbox.on('error', killOwnGroup)
  inbox.on('end', killOwnGroup)
  outbox.add(encode({ kind: 'processorInitialized' }))
  outbox.flush()
  // Node's permissions may forbid threads: then no task should be the one to find out.
  if (process.permission?.has('worker') === false) startGuardian(cells, claimCells, results)
}

forgetHugePages()
forgetThreads()
main()
