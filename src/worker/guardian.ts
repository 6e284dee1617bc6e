// A thread beside user code. It holds the lifeline to the agent, so that these work even if user
// code never returns to the event loop: when the agent dies, for whatever reason, the processor and
// everything that it has started are killed; when the agent asks for the status of a task or takes
// back tasks that have not started, it gets an answer; and the memory of profiled tasks is sampled.

import { Socket } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'
import { ProcessUsage } from '../runtime/process-usage.js'
import { BoardReader, ClaimTaker } from './processor/shared-memory.js'
import {
  decodeNumbers,
  encodeNumbers,
  encodeStatus,
  killOwnGroup,
  lifelineFrame,
} from './link/lifeline.js'
import { FrameParser, KIND_RETRACT, KIND_STATUS, LIFELINE_FD } from './link/frames.js'

/** The input of the guardian. */
export interface GuardianInput {
  /** See `newBoardCells`. */
  readonly cells: Int32Array
  /** See `newClaimCells`. */
  readonly claimCells: Int32Array
  /** When the main thread's clock was 0, by the clock that all threads share, in milliseconds. */
  readonly originMs: number
}

/** Sent by the main thread: the new memory of the board, or undefined to start sampling. */
export type GuardianMessage = Int32Array | undefined

const SAMPLE_INTERVAL_MS = 50

/** The sampler sleeps after this many looks in a row without a profiled task. */
const MAX_IDLE_LOOKS = 20

/** The clock that all threads of a process share, in milliseconds. */
function sharedNow(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/** Watches the lifeline for as long as this process lives. */
function watch(answer: (kind: number, question: Buffer) => Buffer): void {
  const lifeline = new Socket({ fd: LIFELINE_FD })
  const parser = new FrameParser((kind, question) => {
    lifeline.write(lifelineFrame(kind, answer(kind, question)))
  })
  lifeline.on('data', (chunk: Buffer) => parser.feed(chunk))
  lifeline.on('error', killOwnGroup)
  lifeline.on('close', killOwnGroup)
}

/** Follows moves of the board, and samples memory while tasks are profiled, once woken up. */
function listen(board: BoardReader, nowMs: () => number): void {
  const usage = new ProcessUsage()
  let timer: NodeJS.Timeout | undefined
  let idleLooks = 0
  const look = (): void => {
    board.samplePeaks(nowMs(), () => usage.rssBytes)
    idleLooks = board.isProfiling ? 0 : idleLooks + 1
    if (idleLooks < MAX_IDLE_LOOKS || !board.fallAsleep()) return
    clearInterval(timer)
    timer = undefined
  }
  parentPort?.on('message', (cells: GuardianMessage) => {
    // The flag that it sleeps may have been lost in the move: it looks a few times, then sleeps
    // again.
    if (cells !== undefined) board.move(cells)
    idleLooks = 0
    timer ??= setInterval(look, SAMPLE_INTERVAL_MS)
  })
}

function main({ cells, claimCells, originMs }: GuardianInput): void {
  const board = new BoardReader(cells)
  const taker = new ClaimTaker(claimCells)
  const nowMs = (): number => Math.trunc(sharedNow() - originMs)
  watch((kind, question) => {
    const numbers = decodeNumbers(question)
    if (kind === KIND_STATUS) return encodeStatus(board.statusOf(numbers[0] ?? 0, nowMs()))
    return encodeNumbers(kind === KIND_RETRACT ? numbers.filter((one) => taker.retract(one)) : [])
  })
  listen(board, nowMs)
}

main(workerData as GuardianInput)
