// A process that stores the content of large objects, for one or more schedulers. It is a
// scheduler without tasks: docs/protocol.md#servers.

import {
  FEATURE_SERVERS,
  FEATURES_WITHOUT_OBJECTS,
  hasFeature,
  isStorageServer,
  NO_SCHEDULER_HERE,
} from '../base/features.js'
import { ConfigError } from '../base/errors.js'
import type { SchedulerId } from '../base/ids.js'
import type { Logger } from '../base/logger.js'
import { Recurrence } from '../base/recurrence.js'
import { messageOf } from '../base/text.js'
import { MessageReader } from '../runtime/message-reader.js'
import { newIdentity, peerInfo } from '../runtime/peer-info.js'
import { parseAddress } from '../transport/address.js'
import { ConnectReport } from '../transport/bounded-log.js'
import { DealerSocket } from '../transport/dealer.js'
import type { ConnectionEnd } from '../transport/end.js'
import type { IncomingMessage } from '../transport/options.js'
import { type ClientHeartbeatEcho, encodeFrame, type Message } from '../wire/message.js'
import { visitorHeartbeat } from '../runtime/storage/link.js'
import { ContentCopies } from './content-copies.js'
import { Scheduler, type SchedulerEnd } from './scheduler.js'
import type { SchedulerOwnOptions } from './scheduler-options.js'

/** Content without a user is kept for this long: its scheduler may come back. */
const UNCLAIMED_MS = 60_000

/** How often the server makes itself known to its scheduler, which may have been restarted. */
const REGISTER_MS = 2_000

/** A server that ends waits for this long until others have what is needed. */
export const LEAVE_MS = 60_000

/** How often the log says that the scheduler does not take the server. */
const TELL_MS = 60_000

/** How much is stored, and where. */
export type ObjectStorageServerLimits = Pick<
  SchedulerOwnOptions,
  'objectDirectory' | 'objectMemoryLimitBytes' | 'objectDiskLimitBytes' | 'objectSpillDirectory'
>

/** The settings of a server. */
interface ObjectStorageServerOptions extends ObjectStorageServerLimits {
  /** Where it listens. */
  readonly address: string
  /** Where the scheduler is that is to use it; undefined: options of schedulers name the server. */
  readonly schedulerAddress?: string | undefined
  readonly logger: Logger
}

/** An object storage server in this process. */
export class ObjectStorageServer {
  /** Resolves when it has stopped. */
  readonly ended: Promise<SchedulerEnd>
  readonly #store: Scheduler
  readonly #copies: ContentCopies
  readonly #logger: Logger
  readonly #reader = new MessageReader((text, fields) => this.#logger.warn(text, fields))
  readonly #refusals = new Recurrence(TELL_MS)
  /** How others reach it, as its scheduler has said; '' = they cannot. */
  #name: string | undefined
  readonly #registration: DealerSocket | undefined
  readonly #timer: NodeJS.Timeout | undefined

  /** Ends the wait of `close`. */
  #onLeft: (() => void) | undefined

  private constructor(
    store: Scheduler,
    copies: ContentCopies,
    schedulerAddress: string | undefined,
    logger: Logger,
  ) {
    this.#store = store
    this.#copies = copies
    this.#logger = logger
    this.ended = store.ended
    if (schedulerAddress === undefined) return
    const report = new ConnectReport(schedulerAddress)
    const handler = {
      onConnect: () => {
        report.onConnected()
        this.#greet(true)
      },
      onDisconnect: () => {
        this.#name = undefined
        this.#copies.name = ''
        this.#onLeft?.()
        logger.info('lost the connection to the scheduler')
      },
      onConnectFailed: (end: ConnectionEnd) => report.onFailed(logger, end),
      onDrain: () => {},
      onMessages: (messages: readonly IncomingMessage[]) => {
        for (const frames of messages) this.#onMessage(this.#reader.read(frames))
      },
    }
    const own = newIdentity('StorageServer')
    const options = { queueWhileDisconnected: false, logger }
    this.#registration = new DealerSocket(schedulerAddress, own, handler, options)
    this.#timer = setInterval(() => this.#greet(false), REGISTER_MS).unref()
  }

  /** Listens. Rejects like `Scheduler.start`, and with `ConfigError` for a wrong scheduler. */
  static async start(options: ObjectStorageServerOptions): Promise<ObjectStorageServer> {
    const { schedulerAddress, logger, ...limits } = options
    const copies = new ContentCopies(schedulerAddress, logger)
    const fixed = { monitorAddress: '', objectStorageAddresses: [], protected: true } as const
    const store = await Scheduler.startStorage(
      { ...limits, ...fixed, logger, objectRetentionMs: UNCLAIMED_MS },
      (message) => copies.answer(message),
    )
    copies.open(store.address)
    try {
      return new ObjectStorageServer(store, copies, schedulerAddress, logger)
    } catch (error) {
      copies.close()
      await store.close()
      throw error
    }
  }

  /** Where it listens, with the actual port. */
  get address(): string {
    return this.#store.address
  }

  /** New each time that it starts. */
  get instance(): SchedulerId {
    return this.#store.id
  }

  /** Stops, once other servers of its scheduler have what is still needed, if there are any. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    if (this.#name !== undefined && this.#name !== '') await this.#leave()
    await this.#registration?.close()
    this.#reader.close()
    this.#copies.close()
    await this.#store.close()
  }

  async #leave(): Promise<void> {
    const left = new Promise<void>((resolve) => (this.#onLeft = resolve))
    const timer = setTimeout(() => this.#onLeft?.(), LEAVE_MS)
    const message = { kind: 'storageServers', servers: [], isServer: true } as const
    this.#registration?.send(encodeFrame(message))
    await left
    clearTimeout(timer)
  }

  /** Only a scheduler of ours understands more than this. */
  #greet(isFirst: boolean): void {
    const heartbeat = visitorHeartbeat(isFirst, FEATURES_WITHOUT_OBJECTS)
    // The machine, near which tasks that need something from here are run.
    const info = isFirst ? [peerInfo({ name: '' })] : []
    this.#registration?.send(encodeFrame({ ...heartbeat, info }))
  }

  #onEcho({ features }: ClientHeartbeatEcho): void {
    const isServer = isStorageServer({ features })
    if (hasFeature(features, FEATURE_SERVERS) && !isServer) {
      if (this.#onLeft === undefined) this.#register()
    } else if (this.#refusals.note(performance.now()) > 0) {
      const older =
        'the scheduler does not use object storage servers: it is that of Python, or older'
      this.#logger.warn(isServer ? `cannot register: ${NO_SCHEDULER_HERE}` : older)
    }
  }

  #register(): void {
    const servers = [{ address: this.address, instance: this.instance, freeBytes: 0 }]
    const message = { kind: 'storageServers', servers, isServer: true } as const
    this.#registration?.send(encodeFrame(message))
  }

  /** The answer of the scheduler. */
  #onMessage(message: Message | undefined): void {
    if (message?.kind === 'clientHeartbeatEcho') return this.#onEcho(message)
    if (message?.kind !== 'storageServers') return
    const [{ address: name } = { address: '' }] = message.servers
    if (this.#onLeft !== undefined) return name === '' ? this.#onLeft() : undefined
    if (name === this.#name) return
    this.#name = name
    this.#copies.name = name
    if (name !== '') {
      this.#logger.info(`the scheduler uses this server as ${name}`, { name })
      return
    }
    const text = 'the scheduler cannot use this server; start it with an address of its own, which'
    this.#logger.warn(`${text} the machine of the scheduler can reach`, { address: this.address })
  }
}

/**
 * Where to listen, with TLS if the scheduler does so. Throws `ConfigError`, which names the option.
 */
export function addressAt(name: string, port: number, scheduler = ''): string {
  const scheme = /^tls:/i.test(scheduler) ? 'tls' : 'tcp'
  const address = `${scheme}://${name.includes(':') ? `[${name}]` : name}:${port}`
  try {
    parseAddress(address)
  } catch (error) {
    throw new ConfigError(`option name: ${messageOf(error)}`, { cause: error })
  }
  return address
}
