// A thread beside user code. It holds the lifeline to the agent, so that these work even if user
// code never returns to the event loop: when the agent dies, for whatever reason, the processor and
// everything that it has started are killed; when the agent asks for the status of a task or takes
// back tasks that have not started, it gets an answer, and the results of earlier tasks; when an
// operator asks what user code does, another thread looks; and the memory of profiled tasks is
// sampled.

import { Socket } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'
import { ProtocolError } from '../base/errors.js'
import { ProcessUsage } from '../runtime/process-usage.js'
import { BoardReader, ClaimTaker, type GuardianMessage } from './processor/shared-memory.js'
import { ResultTaker } from './processor/result-board.js'
import { killOwnGroup } from './link/lifeline.js'
import {
  type AgentFrame,
  decodeAgentFrame,
  LIFELINE_FD,
  type ProcessorFrame,
} from './link/frames.js'
import { controlBytes, FrameParser } from './link/pipe.js'
import { answerLooks, LOOK, StackLooker } from './stack-look.js'

/** The input of the guardian. */
export interface GuardianInput {
  /** See `newBoardCells`. */
  readonly cells: Int32Array
  /** See `newClaimCells`. */
  readonly claimCells: Int32Array
  /** See `newResultMemory`. */
  readonly results: SharedArrayBuffer
  /** When the main thread's clock was 0, by the clock that all threads share, in milliseconds. */
  readonly originMs: number
  /** Node's permissions apply to the main thread: it has no inspector. */
  readonly isRestricted: boolean
}

const SAMPLE_INTERVAL_MS = 50

/** The sampler sleeps after this many looks in a row without a profiled task. */
const MAX_IDLE_LOOKS = 20

/** The clock that all threads of a process share, in milliseconds. */
function sharedNow(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

type Tell = (frame: ProcessorFrame) => unknown
type Answer = (question: AgentFrame, tell: Tell) => ProcessorFrame

/** A task that has run for this long may take much longer: results before it are sent. */
const LONG_MS = 50

/** Watches the lifeline for as long as this process lives. */
function watch(looker: StackLooker, answer: Answer): void {
  const lifeline = new Socket({ fd: LIFELINE_FD })
  const tell: Tell = (frame) => lifeline.write(controlBytes(frame))
  const onQuestion = (question: AgentFrame): void => {
    if (question.type !== 'askStack') tell(answer(question, tell))
    else void looker.look().then((report) => tell({ type: 'stack', report }))
  }
  const parser = new FrameParser({
    onMessage: () => {
      throw new ProtocolError('a message on the lifeline')
    },
    onControl: (bytes) => onQuestion(decodeAgentFrame(bytes)),
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

function main({ cells, claimCells, results, originMs, isRestricted }: GuardianInput): void {
  const board = new BoardReader(cells)
  const resultTaker = new ResultTaker(results)
  const taker = new ClaimTaker(claimCells)
  const nowMs = (): number => Math.trunc(sharedNow() - originMs)
  watch(new StackLooker(isRestricted), (question, tell) => {
    if (question.type === 'askStatus') {
      const now = nowMs()
      // The question may be about tasks that have finished, or wait.
      if (board.hasLongTask(LONG_MS, now)) {
        resultTaker.take((results) => void tell({ type: 'results', results }))
      }
      return { type: 'status', status: board.statusOf(question.task, now, question.count) }
    }
    if (question.type !== 'retract') return { type: 'pulse' }
    return { type: 'retracted', tasks: question.tasks.filter((task) => taker.retract(task)) }
  })
  listen(board, nowMs)
}

if (workerData === LOOK) answerLooks()
else main(workerData as GuardianInput)
