// Observes a scheduler from outside: it publishes the state of everything once per second.

import { SubSocket } from '#src/transport/sub.js'
import { decode, type StateScheduler } from 'scaler-ts/protocol'

/** The last state that was published, across restarts of the scheduler. */
export class Monitor {
  readonly #socket: SubSocket
  readonly #waiting = new Set<(state: StateScheduler) => void>()
  #last: StateScheduler | undefined

  constructor(address: string) {
    this.#socket = new SubSocket(
      address,
      {
        onMessages: (messages) => {
          for (const message of messages) {
            if (message instanceof Uint8Array) this.#onMessage(message)
          }
        },
        onConnect: () => {},
        onDisconnect: () => (this.#last = undefined),
        onConnectFailed: () => {},
      },
      { reconnectMaxMs: 500 },
    )
    this.#socket.subscribe('')
  }

  /** The last one; undefined before the first one, and after the connection was lost. */
  get last(): StateScheduler | undefined {
    return this.#last
  }

  /** Resolves with the next state. */
  next(): Promise<StateScheduler> {
    return new Promise((resolve) => this.#waiting.add(resolve))
  }

  /**
   * Resolves with the first state from now on that matches; rejects after `deadlineMs` with `what`
   * and the last state.
   */
  async until(
    what: string,
    isWanted: (state: StateScheduler) => boolean,
    deadlineMs = 30_000,
  ): Promise<StateScheduler> {
    let timer: NodeJS.Timeout | undefined
    const tooLate = new Promise<'late'>((resolve) => {
      timer = setTimeout(() => resolve('late'), deadlineMs)
    })
    try {
      for (;;) {
        const state = await Promise.race([this.next(), tooLate])
        if (state === 'late') throw new Error(`in vain: ${what}; ${describeState(this.#last)}`)
        if (isWanted(state)) return state
      }
    } finally {
      clearTimeout(timer)
    }
  }

  close(): Promise<void> {
    return this.#socket.close()
  }

  #onMessage(bytes: Uint8Array): void {
    const message = decode(bytes)
    if (message.kind !== 'stateScheduler') return
    this.#last = message
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const resolve of waiting) resolve(message)
  }
}

/** Whether nothing waits, nothing runs, and nothing is stored. */
export function isIdle(state: StateScheduler): boolean {
  const { taskManager, clientManager, objectManager } = state
  const tasks = taskManager.unassigned + taskManager.running
  return (
    tasks === 0 &&
    clientManager.clientToNumOfTask.length === 0 &&
    objectManager.numberOfObjects === 0
  )
}

/** The numbers of a state on one line. */
export function describeState(state: StateScheduler | undefined): string {
  if (state === undefined) return 'no state'
  const { taskManager, clientManager, objectManager, workerManager } = state
  const { unassigned, running } = taskManager
  const clients = clientManager.clientToNumOfTask.map(({ numTask }) => numTask).join('+')
  const workers = workerManager.workers.map((worker) => worker.sent).join('+')
  return (
    `${unassigned} tasks wait, ${running} run (${workers}), clients have ${clients || 'none'}, ` +
    `${objectManager.numberOfObjects} objects`
  )
}
