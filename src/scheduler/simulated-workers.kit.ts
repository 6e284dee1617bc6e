// Workers that only exist as connections: each answers a task at once, without running anything.
// Thousands of them fit into one process.

import { OUR_FEATURES } from '../base/features.js'
import { identity } from '../base/ids.js'
import { peerInfo } from '../runtime/peer-info.js'
import { DealerSocket } from '../transport/dealer.js'
import { encodeProfileResult } from '../wire/metadata.js'
import {
  decode,
  encodeFrame,
  type PeerInfo,
  PLAIN_HEARTBEAT,
  PLAIN_RESULT,
  type Resource,
  type Task,
} from '../wire/message.js'

/** Simulated workers. */
export interface SimulatedWorkers {
  close(): Promise<void>
}

const HEARTBEAT_MS = 2_000
const TICK_MS = 20
const DURATION_SECONDS = 50e-6
const PROFILE = encodeProfileResult({
  durationSeconds: DURATION_SECONDS,
  peakMemoryBytes: 0,
  cpuSeconds: 0,
})
/** The profile of a task in a run. */
const DURATION = Buffer.alloc(4)
DURATION.writeFloatBE(DURATION_SECONDS)
/** How many connect at a time, so that the scheduler need not accept all of them at once. */
const AT_ONCE = 200
/** Agents; each has as many workers. */
const AGENTS = 50

type Frame = ReturnType<typeof encodeFrame>

/** Connects `count` workers to a scheduler; resolves once each has sent its first heartbeat. */
export async function simulateWorkers(address: string, count: number): Promise<SimulatedWorkers> {
  const sockets: DealerSocket[] = []
  let tick = 0
  const timer = setInterval(() => {
    const step = HEARTBEAT_MS / TICK_MS
    for (let at = tick % step; at < sockets.length; at += step) sockets[at]?.send(heartbeat(at))
    tick += 1
  }, TICK_MS)
  for (let at = 0; at < count; at += 1) {
    const socket = await connected(address, at, sockets.length % AT_ONCE === AT_ONCE - 1)
    sockets.push(socket)
  }
  return {
    close: async () => {
      clearInterval(timer)
      await Promise.all(sockets.map((socket) => socket.close()))
    },
  }
}

async function connected(address: string, at: number, isAwaited: boolean): Promise<DealerSocket> {
  const name = identity(`${at % AGENTS}|sim|${String(at).padStart(32, '0')}`)
  let onFirst = (): void => {}
  const first = new Promise<void>((resolve) => (onFirst = resolve))
  const socket: DealerSocket = new DealerSocket(
    address,
    name,
    {
      onConnect: () => {
        socket.send(heartbeat(at, [peerInfo({ name: `w${at}` })]))
        onFirst()
      },
      onDisconnect: () => {},
      onConnectFailed: () => {},
      onDrain: () => {},
      onMessages: (messages) => {
        for (const frame of messages) {
          const message = frame instanceof Uint8Array ? decode(frame) : undefined
          if (message?.kind === 'task') socket.send(result(message))
        }
      },
    },
    {},
  )
  if (isAwaited) await first
  return socket
}

/** `info`: in the first one of a connection. */
function heartbeat(at: number, info: readonly PeerInfo[] = []): Frame {
  const usage: Resource = { cpu: at % 1_000, rss: 50_000_000 }
  const processor = {
    pid: at,
    initialized: true,
    hasTask: false,
    suspended: false,
    resource: usage,
  }
  return encodeFrame({
    kind: 'workerHeartbeat',
    agent: usage,
    rssFree: 1e9,
    queuedTasks: 0,
    latencyUS: 200,
    taskLock: false,
    processors: [processor],
    ...PLAIN_HEARTBEAT,
    features: OUR_FEATURES,
    runtime: 'javascript',
    agentId: `agent-${at % AGENTS}`,
    info,
  })
}

/** The result of each task is its argument; a run of them is answered by one message. */
function result({ taskId, attempt, count, packed, functionArgs: [argument] }: Task): Frame {
  return encodeFrame({
    kind: 'taskResult',
    taskId,
    status: 'success',
    metadata: count === 0 ? PROFILE : Buffer.concat(Array<Buffer>(count).fill(DURATION)),
    results: [],
    ...PLAIN_RESULT,
    inlineResults: argument === undefined ? [] : [argument.data],
    attempt,
    count,
    packed,
  })
}
