// Looks at what is at an address: a connection of its own, driven by the inquiry. A thin shell: it
// turns what a socket tells into events, and what the inquiry wants into writes.

import type { Socket } from 'node:net'
import { OUR_FEATURES } from '../base/features.js'
import { identity } from '../base/ids.js'
import { ProcessSampler } from '../runtime/process-statistics.js'
import type { Address } from '../transport/address.js'
import { codeOf, describeError } from '../transport/os-error.js'
import { openStream } from '../transport/stream.js'
import type { ClientHeartbeat } from '../wire/message.js'
import type { ConnectFinding } from './connect-finding.js'
import { ConnectInquiry, type InquiryAction, type InquiryEvent } from './connect-inquiry.js'
import { newClientIdentity } from './ids.js'

/** How to look. */
export interface ProbeOptions {
  /** Then it is over, with what is known until then. */
  readonly limitMs: number
  /** So many heartbeats a scheduler has to answer; 0 = only the handshake is looked at. */
  readonly heartbeats: number
  /** Whether the last answer shall tell of workers and clients. */
  readonly wantsPeers?: boolean
}

/** One look at an address. Keeps the process alive until it is over. */
export class ConnectProbe {
  /** What was found; never rejects. */
  readonly finished: Promise<ConnectFinding>
  readonly #inquiry: ConnectInquiry
  readonly #socket: Socket
  readonly #timer: NodeJS.Timeout
  readonly #begun = performance.now()
  #resolve: (finding: ConnectFinding) => void = () => {}

  constructor(address: Address, { limitMs, heartbeats, wantsPeers = false }: ProbeOptions) {
    this.finished = new Promise((resolve) => {
      this.#resolve = resolve
    })
    this.#inquiry = new ConnectInquiry({
      address,
      identity: newClientIdentity(),
      heartbeats,
      heartbeat: newHeartbeat(),
      wantsPeers,
    })
    this.#timer = setTimeout(() => this.#tell({ type: 'expired' }), limitMs)
    this.#socket = openStream(address)
    this.#listen(address)
  }

  /** What is known so far, or was found. */
  get finding(): ConnectFinding {
    return this.#inquiry.finding
  }

  /** How long it has looked. */
  get elapsedMs(): number {
    return performance.now() - this.#begun
  }

  /** Ends it with what is known. */
  stop(): void {
    this.#tell({ type: 'expired' })
  }

  #listen(address: Address): void {
    const socket = this.#socket
    socket.on('connectionAttempt', (ip: string, port: number) => {
      this.#tell({ type: 'attempted', remote: remoteText(ip, port) })
    })
    socket.on('connect', () => {
      const { remoteAddress: ip, remotePort: port } = socket
      const isTcp = ip !== undefined && port !== undefined
      const path = address.kind === 'ipc' ? address.path : 'the peer'
      this.#tell({ type: 'connected', remote: isTcp ? remoteText(ip, port) : path })
    })
    socket.on('data', (bytes: Buffer) => this.#tell({ type: 'received', bytes }))
    socket.on('error', (error) => {
      this.#tell({ type: 'failed', code: firstCode(error), reason: describeError(error) })
    })
    socket.on('end', () => this.#tell({ type: 'ended' }))
    socket.on('close', () => this.#tell({ type: 'ended' }))
  }

  #tell(event: InquiryEvent): void {
    this.#inquiry.handle(event, performance.now(), (action) => this.#perform(action))
  }

  #perform(action: InquiryAction): void {
    if (action.type === 'write') {
      this.#socket.write(action.bytes)
      return
    }
    clearTimeout(this.#timer)
    // What was written is sent before the end; who does not read does not hold us.
    if (this.#socket.connecting) this.#socket.destroy()
    else this.#socket.destroySoon()
    this.#socket.unref()
    this.#resolve(action.finding)
  }
}

function newHeartbeat(): ClientHeartbeat {
  return {
    kind: 'clientHeartbeat',
    resource: new ProcessSampler().sample().resource,
    latencyUS: 0,
    features: OUR_FEATURES,
    runtime: `node/${process.versions.node}`,
    worker: identity(''),
    wantsReport: true,
    wantsPeers: false,
    info: [],
  }
}

/** Of several attempts the first that is no refusal tells more. */
function firstCode(error: Error): string {
  const errors: readonly unknown[] = error instanceof AggregateError ? error.errors : [error]
  const codes = errors.map((each) => codeOf(each) ?? '')
  return codes.find((code) => code !== 'ECONNREFUSED') ?? codes[0] ?? ''
}

function remoteText(ip: string, port: number): string {
  return `${ip} port ${port}`
}
