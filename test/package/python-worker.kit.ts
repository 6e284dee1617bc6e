// A worker as those of Python Scaler 1.9.9, as far as a scheduler sees: it only sends heartbeats.

import { identity } from '#src/base/ids.js'
import { DealerSocket } from '#src/transport/dealer.js'
import { encode, PLAIN_HEARTBEAT, type WorkerHeartbeat } from '#src/wire/message.js'

const HEARTBEAT_MS = 500
const IDLE = { cpu: 0, rss: 0 }

const HEARTBEAT: WorkerHeartbeat = {
  kind: 'workerHeartbeat',
  agent: IDLE,
  rssFree: 1e9,
  queuedTasks: 0,
  latencyUS: 0,
  taskLock: true,
  processors: [{ pid: 8, initialized: true, hasTask: false, suspended: false, resource: IDLE }],
  features: 0,
  runtime: '',
  ...PLAIN_HEARTBEAT,
}

/** A worker with the name `vm`. It stays until it is disposed. */
export class PythonWorker implements AsyncDisposable {
  readonly #socket: DealerSocket
  readonly #timer: NodeJS.Timeout

  private constructor(address: string, onEcho: () => void) {
    const nothing = (): void => {}
    this.#socket = new DealerSocket(address, identity('7|vm|00112233445566778899aabbccddeeff'), {
      onMessages: onEcho,
      onConnect: nothing,
      onDisconnect: nothing,
      onConnectFailed: nothing,
      onDrain: nothing,
    })
    const beat = (): unknown => this.#socket.send(encode(HEARTBEAT))
    beat()
    this.#timer = setInterval(beat, HEARTBEAT_MS)
  }

  /** Resolves when the scheduler has answered. */
  static start(address: string): Promise<PythonWorker> {
    return new Promise((resolve) => {
      const worker: PythonWorker = new PythonWorker(address, () => resolve(worker))
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    await this.#socket.close()
  }
}
