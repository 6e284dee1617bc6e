// The two-way traffic between the socket of a client and its machine: frames become events, actions
// become frames. connection.ts applies actions to tasks and their owners.

import { NO_BYTES } from '../base/bytes.js'
import { OUR_FEATURES } from '../base/features.js'
import type { Identity, ObjectId } from '../base/ids.js'
import type { Logger } from '../base/logger.js'
import type { ClientMachine } from '../core/client/client-machine.js'
import type { ClientAction, ClientEvent } from '../core/client/events.js'
import { type Clock, Driver } from '../runtime/driver.js'
import { MessageReader } from '../runtime/message-reader.js'
import {
  contentRequest,
  moveIn,
  ObjectFiles,
  proofMessage,
  ReusedMemory,
} from '../runtime/object-files.js'
import type { ArrivingContent } from '../runtime/storage/arrival.js'
import { ObjectServers } from '../runtime/storage/servers.js'
import { peerInfo } from '../runtime/peer-info.js'
import { ProcessSampler } from '../runtime/process-statistics.js'
import { isMemoryTag } from '../serializer/bytes/message.js'
import { serializeError } from '../serializer/error-codec.js'
import { type DealerHandler, DealerSocket } from '../transport/dealer.js'
import type { ConnectionEnd } from '../transport/end.js'
import { type IncomingMessage, type OutgoingFrame, pingIntervalFor } from '../transport/options.js'
import type { TlsOption } from '../transport/tls/options.js'
import {
  encodeFrame,
  type Message,
  type ObjectContent,
  type ObjectResponse,
  type PeerInfo,
} from '../wire/message.js'
import { fileOf, splitChunks } from '../wire/object-content.js'
import { refusedObjectError } from '../wire/storage-refusal.js'
import type { AnyOwner } from './future/home.js'

// The seam between a client and its message carrier: a DEALER, or something in memory in tests.

/** The methods of a socket that a client needs; `DealerSocket` has the details. */
export interface ClientSocket {
  readonly end: ConnectionEnd
  send(frame: OutgoingFrame): boolean
  ref(): void
  unref(): void
  close(): Promise<void>
}

/** The address, the identity and the handler of a connection. */
export interface ClientSocketSetup extends TlsOption {
  readonly address: string
  readonly identity: Identity
  readonly handler: DealerHandler
  readonly logger: Logger
}

/** Connects in the background. Throws `ConfigError` for a wrong address. */
export function openDealer(setup: ClientSocketSetup, heartbeatIntervalMs: number): ClientSocket {
  const { address, identity, handler, logger, tls } = setup
  const pingIntervalMs = pingIntervalFor(heartbeatIntervalMs)
  // Unsent messages stay in the core, which knows what a new connection still needs.
  const options = { queueWhileDisconnected: false, logger, tls, pingIntervalMs }
  return new DealerSocket(address, identity, handler, options)
}

/** The events for the machine of a client. */
export type TrafficEvent = ClientEvent<AnyOwner>

type TrafficAction = ClientAction<AnyOwner>

/** The actions that the traffic itself executes. */
type OwnAction = 'send' | 'requestFlush' | 'sendHeartbeat' | 'releaseFile' | 'log'

/** An action that concerns more than traffic. */
export type OtherAction = Exclude<TrafficAction, { readonly type: OwnAction }>

/** A client that leaves waits for object storage servers for this long. */
const MAX_CLOSE_MS = 2_000

/**
 * What happens on the way to a scheduler: it has answered; an attempt failed, or a connection was
 * lost; or there will be no further attempt (`reason`: the last trouble of the connection, or '').
 */
export type ConnectionEvent =
  | { readonly type: 'opened' }
  | { readonly type: 'failed' }
  | { readonly type: 'ended'; readonly reason: string }

/** The two sides of the traffic, and what its owner does. */
interface TrafficSetup extends TlsOption {
  readonly address: string
  readonly identity: Identity
  /** The worker of the tasks in which the client lives, or ''. */
  readonly worker: Identity
  /** The scheduler logs little about a client that is only a health check. */
  readonly isVisitor: boolean
  /** The name of the client for people. */
  readonly name: string
  readonly logger: Logger
  readonly machine: ClientMachine<AnyOwner>
  readonly perform: (action: OtherAction) => void
  /** Whether a heartbeat must request a report (docs/protocol.md#report). */
  readonly wantsReport: () => boolean
  /** Messages have arrived, or have been sent: there may be room for more. */
  readonly onHandled: () => void
  /** An attempt to connect failed, or a connection was lost. */
  readonly onFailure: () => void
  /** The machine has thrown: a bug of ours. It must not be used afterwards. */
  readonly onFault: (error: unknown) => void
  readonly openSocket: (setup: ClientSocketSetup) => ClientSocket
  readonly clock: Clock | undefined
}

/** A result that is read as soon as it has arrived; undefined: the memory is in use. */
function arrivalIn(reused: ReusedMemory, byteLength: number): ArrivingContent | undefined {
  const memory = reused.lend(byteLength)
  if (memory === undefined) return undefined
  let at = 0
  return {
    write: (bytes) => {
      memory.set(bytes, at)
      at += bytes.byteLength
    },
    finish: () => ({ type: 'object', chunks: splitChunks(memory) }),
    drop: () => reused.takeBack([memory]),
  }
}

/** The traffic of one client. Connects in the background. */
export class ClientTraffic {
  /** The files that this process shares with the scheduler. */
  readonly files: ObjectFiles = new ObjectFiles()
  readonly #setup: TrafficSetup
  readonly #info: PeerInfo
  /** Whether the scheduler of this connection knows what this process is. */
  #isIntroduced = false
  readonly #logger: Logger
  readonly #machine: ClientMachine<AnyOwner>
  #proof: Uint8Array = NO_BYTES
  readonly #memory = new ReusedMemory()
  readonly #servers: ObjectServers
  readonly #reader = new MessageReader((text, fields) => this.#logger.warn(text, fields))
  readonly #driver: Driver<TrafficEvent, TrafficAction>
  readonly #socket: ClientSocket
  readonly #sampler = new ProcessSampler()
  /** Events that arrived while another one was handled, in order. */
  readonly #postponed: TrafficEvent[] = []
  #isHandling = false
  /** The transport has reported that it is full, and will report when it is not any more. */
  #isCongested = false
  #isFlushWanted = false
  readonly #flush = (): void => {
    if (this.#isCongested) this.#isFlushWanted = true
    else this.post({ type: 'writable' })
    this.#setup.onHandled()
  }

  /** Throws `ConfigError` for a wrong address. */
  constructor(setup: TrafficSetup) {
    const { address, identity, logger, tls, machine, clock } = setup
    this.#setup = setup
    this.#info = peerInfo({ name: setup.name })
    this.#machine = machine
    this.#logger = logger
    this.#driver = new Driver({
      machine,
      tick: { type: 'tick' },
      perform: (action) => this.#perform(action),
      onFault: setup.onFault,
      onDue: () => {
        this.post({ type: 'tick' })
        setup.onHandled()
      },
      ...(clock === undefined ? {} : { clock }),
    })
    const handler = this.#dealerHandler()
    this.#socket = setup.openSocket({ address, identity, handler, logger, tls })
    this.#socket.unref()
    this.#servers = new ObjectServers({
      address,
      logger,
      tls,
      send: (message) => this.#socket.send(encodeFrame(message)),
      receive: (response) => {
        this.#onObjects(response)
        for (const chunks of response.objectContent.objectBytes) this.#memory.takeBack(chunks)
        setup.onHandled()
      },
      arrivals: {
        open: (byteLength, first) => {
          return isMemoryTag(first) ? arrivalIn(this.#memory, byteLength) : undefined
        },
        drop: ({ chunks }) => this.#memory.takeBack(chunks),
      },
      onDrain: () => this.#onDrain(),
    })
  }

  /** Whether an event is being handled: another one has to wait. */
  get isHandling(): boolean {
    return this.#isHandling
  }

  /** How the connection would end now, or how the last one has ended. */
  get end(): ConnectionEnd {
    return this.#socket.end
  }

  /** The serialized value of a pinned object; undefined for any other. */
  contentOf(id: ObjectId): Uint8Array | undefined {
    const content = this.#machine.contentOf(id)
    if (content === undefined || content instanceof Uint8Array) return content
    return this.files.read([content.chunk])
  }

  /** Keeps the process alive. */
  ref(): void {
    this.#socket.ref()
  }

  /** Lets the process exit. */
  unref(): void {
    this.#socket.unref()
  }

  /** Closes the socket once everything sent is written. */
  async close(): Promise<void> {
    await this.#servers.idle(MAX_CLOSE_MS)
    await this.#socket.close()
    this.#servers.reset()
    this.#reader.close()
    this.files.close()
    this.post({ type: 'linkClosed' })
  }

  /** Handles an event now, or after the one that is being handled: an owner may act at once. */
  post(event: TrafficEvent): void {
    if (this.#isHandling) {
      this.#postponed.push(event)
      return
    }
    this.#isHandling = true
    try {
      this.#driver.handle(event)
      if (this.#postponed.length > 0) this.#handlePostponed()
    } finally {
      this.#isHandling = false
    }
  }

  #handlePostponed(): void {
    // The list may grow meanwhile.
    for (const event of this.#postponed) this.#driver.handle(event)
    this.#postponed.length = 0
  }

  #dealerHandler(): DealerHandler {
    return {
      onConnect: () => {
        this.#isCongested = false
        this.#isFlushWanted = false
        this.#isIntroduced = false
        this.files.use('')
        this.post({ type: 'connected' })
      },
      onDisconnect: (reason) => {
        const text = reason === '' ? 'the scheduler closed the connection' : reason
        this.#logger.info('lost the connection to the scheduler', { reason: text })
        this.#servers.reset()
        this.post({ type: 'disconnected', reason: text })
        this.#setup.onFailure()
        this.#setup.onHandled()
      },
      onConnectFailed: ({ reason }) => {
        this.#logger.debug('could not connect to the scheduler', { reason })
        this.post({ type: 'connectFailed', reason })
        this.#setup.onFailure()
      },
      onMessages: (messages) => {
        for (const message of messages) this.#onMessage(message)
        this.#setup.onHandled()
      },
      onProgress: () => this.post({ type: 'progressed' }),
      onDrain: () => this.#onDrain(),
    }
  }

  #onDrain(): void {
    this.#isCongested = false
    if (!this.#isFlushWanted) return
    this.#isFlushWanted = false
    this.#flush()
  }

  #onMessage(frames: IncomingMessage): void {
    const message = this.#reader.read(frames)
    if (message?.kind === 'objectFiles') this.#proveFiles(message.directory)
    else if (message?.kind === 'storageServers') this.#servers.onServers(message)
    else if (message?.kind === 'objectResponse') {
      const here = this.#servers.incoming(message)
      if (here !== undefined) this.#onObjects(here)
    } else if (message !== undefined) this.post({ type: 'messageReceived', message })
  }

  /** Only who has proved that it sees the directory gets objects in files. */
  #proveFiles(directory: string): void {
    this.#proof = this.files.accept(directory)
    if (directory !== '') this.#send(proofMessage(this.#proof))
  }

  #onObjects(message: ObjectResponse): void {
    // Values of a client with a serializer of its own are copied before they are read.
    const isOne = message.objectContent.objectIds.length === 1 && !this.#isHandling
    const read = (chunks: readonly Uint8Array[]): Uint8Array | undefined => {
      return this.#memory.read(chunks, (first) => isOne && isMemoryTag(first))
    }
    const { content, missing } = moveIn(message.objectContent, read)
    const objectContent = withErrors(content)
    this.post({ type: 'messageReceived', message: { ...message, objectContent } })
    if (missing.length === 0) return
    for (const request of contentRequest(missing, this.#proof)) this.#send(request)
  }

  #perform(action: TrafficAction): void {
    switch (action.type) {
      case 'send':
        return this.#send(action.message)
      case 'requestFlush':
        if (action.when === 'soon') queueMicrotask(this.#flush)
        else setImmediate(this.#flush)
        return
      case 'releaseFile':
        return this.files.release(fileOf([action.chunk])?.path ?? '')
      case 'sendHeartbeat':
        return this.#sendHeartbeat(action.latencyUS)
      case 'log':
        return this.#logger[action.level](action.text, action.fields)
      default:
        this.#setup.perform(action)
    }
  }

  #send(message: Message): void {
    const isCreate = message.kind === 'objectInstruction' && message.instructionType === 'create'
    const sent = isCreate
      ? { ...message, objectContent: this.#inFiles(message.objectContent) }
      : message
    if (!this.#servers.send(sent)) this.#isCongested = true
  }

  /** Large content goes into files of this connection, as far as possible. */
  #inFiles(content: ObjectContent): ObjectContent {
    return this.files.moveOut(this.files.sendable(content))
  }

  #sendHeartbeat(latencyUS: number): void {
    const { worker, isVisitor, wantsReport } = this.#setup
    this.#send({
      kind: 'clientHeartbeat',
      resource: this.#sampler.sample().resource,
      latencyUS,
      features: OUR_FEATURES,
      runtime: `node/${process.versions.node}`,
      worker,
      // With the first one, the scheduler would take this client for a visitor.
      wantsReport: isVisitor || (this.#isIntroduced && wantsReport()),
      wantsPeers: false,
      info: this.#isIntroduced ? [] : [this.#info],
    })
    this.#isIntroduced = true
  }
}

/** In place of objects that were not stored: the errors that say so, as tasks send theirs. */
function withErrors(content: ObjectContent): ObjectContent {
  const { objectIds, objectTypes } = content
  if (!objectTypes.includes('refused')) return content
  const objectBytes = content.objectBytes.map((chunks, at) => {
    const id = objectIds[at]
    if (objectTypes[at] !== 'refused' || id === undefined) return chunks
    return [serializeError(refusedObjectError(id, chunks))]
  })
  return { ...content, objectBytes }
}
