// A thread beside the user's code. It holds the lifeline to the agent, so that these work while
// user code never returns to the event loop: when the agent dies, however it dies, the processor
// and what it has started are killed; when the agent asks how far a task is, it is told; and the
// memory of tasks that are profiled is sampled.

import { Socket } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'
import { LIFELINE_FD } from './link.js'
import { QUESTION_BYTES, encodeStatus } from './status-frame.js'
import { BoardReader } from './task-board.js'

/** What the guardian is given. */
export interface GuardianInput {
  /** See `newBoardCells`. */
  readonly cells: Int32Array
  /** When the main thread's clock read 0, by the clock that all threads share, in milliseconds. */
  readonly originMs: number
}

/** What the main thread says: where the board goes on; undefined: that memory is to be sampled. */
export type GuardianMessage = Int32Array | undefined

const SAMPLE_INTERVAL_MS = 50

/** The sampler sleeps when so many looks in a row have found nothing to sample. */
const MAX_IDLE_LOOKS = 20

/** The clock that all threads of a process share, in milliseconds. */
function sharedNow(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/**
 * The processor leads a process group of its own; where there are no groups, only itself is ended.
 */
function killProcessor(): void {
  try {
    process.kill(-process.pid, 'SIGKILL')
  } catch {
    process.kill(process.pid, 'SIGKILL')
  }
}

/** Watches the lifeline for as long as this process lives. */
function watch(board: BoardReader, nowMs: () => number): void {
  const lifeline = new Socket({ fd: LIFELINE_FD })
  let bytes: Buffer = Buffer.alloc(0)
  lifeline.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk])
    for (; bytes.length >= QUESTION_BYTES; bytes = bytes.subarray(QUESTION_BYTES)) {
      lifeline.write(encodeStatus(board.statusOf(bytes.readInt32LE(0), nowMs())))
    }
  })
  lifeline.on('error', killProcessor)
  lifeline.on('close', killProcessor)
}

/** Hears of a new board, and looks at the memory while tasks are profiled, once it is told to. */
function listen(board: BoardReader, nowMs: () => number): void {
  let timer: NodeJS.Timeout | undefined
  let idleLooks = 0
  const look = (): void => {
    board.samplePeaks(nowMs(), () => process.memoryUsage.rss())
    idleLooks = board.isProfiling ? 0 : idleLooks + 1
    if (idleLooks < MAX_IDLE_LOOKS || !board.fallAsleep()) return
    clearInterval(timer)
    timer = undefined
  }
  parentPort?.on('message', (cells: GuardianMessage) => {
    // Whether it sleeps may have got lost on the way: it looks some times, and falls asleep again.
    if (cells !== undefined) board.move(cells)
    idleLooks = 0
    timer ??= setInterval(look, SAMPLE_INTERVAL_MS)
  })
}

function main({ cells, originMs }: GuardianInput): void {
  const board = new BoardReader(cells)
  const nowMs = (): number => Math.trunc(sharedNow() - originMs)
  watch(board, nowMs)
  listen(board, nowMs)
}

main(workerData as GuardianInput)
