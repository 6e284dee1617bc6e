// One look at what a scheduler tells its monitors: how many workers there are and what they are
// doing. Everything else that looks at a scheduler asks the scheduler itself.

import { ProtocolError } from '../base/errors.js'
import { SubSocket } from '../transport/sub.js'
import type { IncomingMessage } from '../transport/socket.js'
import { decode, type StateScheduler } from '../wire/message.js'

/** What monitors see, in numbers. */
export interface MonitorView {
  /** The workers that the scheduler knows. */
  readonly workers: number
  /** Of these, those that have a process that can take a task. */
  readonly readyWorkers: number
  /** Of these, those that have no task at all. */
  readonly idleWorkers: number
  /** Tasks that wait for a worker, and tasks that workers have. */
  readonly waitingTasks: number
  readonly runningTasks: number
  readonly objects: number
}

/**
 * The next state that is published at `address`, which comes once a second; undefined if none came
 * within `limitMs`.
 */
export function readMonitor(address: string, limitMs: number): Promise<MonitorView | undefined> {
  return new Promise((resolve) => {
    const finish = (view: MonitorView | undefined): void => {
      clearTimeout(timer)
      void socket.close().then(() => resolve(view))
    }
    const timer = setTimeout(() => finish(undefined), limitMs)
    const socket = new SubSocket(address, {
      onConnect: () => {},
      onDisconnect: () => {},
      onConnectFailed: () => {},
      onMessages: (messages) => {
        const state = messages.map(stateOf).find((each) => each !== undefined)
        if (state !== undefined) finish(viewOf(state))
      },
    })
    socket.subscribe('')
  })
}

/** Other things are published, too, and other programs may be there. */
function stateOf(frames: IncomingMessage): StateScheduler | undefined {
  try {
    const message = frames instanceof Uint8Array ? decode(frames) : undefined
    return message?.kind === 'stateScheduler' ? message : undefined
  } catch (error) {
    if (error instanceof ProtocolError) return undefined
    throw error
  }
}

/** What it says, in numbers. */
export function viewOf(state: StateScheduler): MonitorView {
  const { workers } = state.workerManager
  const ready = workers.filter(({ itl }) => itl.startsWith('1'))
  const { unassigned, running } = state.taskManager
  return {
    workers: workers.length,
    readyWorkers: ready.length,
    idleWorkers: ready.filter(({ sent }) => sent === 0).length,
    waitingTasks: unassigned,
    runningTasks: running,
    objects: state.objectManager.numberOfObjects,
  }
}
