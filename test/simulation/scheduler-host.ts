// A scheduler process of the simulated world: behaves like src/scheduler/scheduler.ts.

import { schedulerId, type Identity, type SchedulerId } from '#src/base/ids.js'
import type {
  SchedulerAction,
  SchedulerCoreOptions,
  SchedulerEvent,
} from '#src/core/scheduler/events.js'
import { SchedulerMachine } from '#src/core/scheduler/scheduler-machine.js'
import { Driver } from '#src/runtime/driver.js'
import { decode, encode, type Message } from '#src/wire/message.js'
import { CheckedMachine, rethrow } from './checked-machine.js'
import { Mutation } from './mutation.js'
import { describeMessage } from './describe.js'
import type { PipeSettings } from './virtual-pipe.js'
import type { VirtualProcess } from './virtual-process.js'
import { VirtualDisk } from './virtual-disk.js'
import { VirtualRouter } from './virtual-router.js'
import { VirtualServers } from './virtual-servers.js'
import { newProcess, type World } from './world.js'

/** The configuration of a scheduler of a world. */
export interface SchedulerSettings extends Omit<SchedulerCoreOptions, 'schedulerId'> {
  /** Content of at least this size is on a server. */
  readonly minStoredBytes?: number
}

/** The messages between a scheduler and its peers, for checkers. */
export interface SchedulerWatcher {
  onReceived(scheduler: SchedulerId, from: Identity, message: Message): void
  onSent(scheduler: SchedulerId, to: Identity, message: Message): void
  /** Its connection has ended, or it was given up. */
  onDisconnected(scheduler: SchedulerId, peer: Identity): void
}

const STATUS_INTERVAL_MS = 1_000

/** One scheduler, from its start to its end. */
export class SchedulerHost {
  readonly process: VirtualProcess
  readonly schedulerId: SchedulerId
  readonly #world: World
  readonly #machine: SchedulerMachine
  readonly #driver: Driver<SchedulerEvent, SchedulerAction>
  readonly #router: VirtualRouter
  readonly #disk: VirtualDisk
  readonly servers: VirtualServers
  readonly #watcher: SchedulerWatcher

  constructor(
    world: World,
    settings: SchedulerSettings,
    pipes: PipeSettings,
    watcher: SchedulerWatcher,
  ) {
    const number = world.nextNumber()
    this.#world = world
    this.#watcher = watcher
    this.schedulerId = schedulerId(`scheduler-${number}`.padEnd(16, '.'))
    this.process = newProcess(world, `scheduler-${number}`)
    this.#machine = new SchedulerMachine({ ...settings, schedulerId: this.schedulerId })
    this.#driver = new Driver({
      machine: new CheckedMachine(this.#machine, world.checkEvery),
      tick: { type: 'tick' },
      perform: (action) => this.#perform(action),
      onFault: rethrow,
      clock: this.process.timers,
    })
    this.#disk = new VirtualDisk(this.process, world.random.fork(`disk ${number}`), {
      onEvent: (event) => this.#driver.handle(event),
      send: (to, response) => this.#send(to, encode(response)),
    })
    this.servers = new VirtualServers(this.process, world.random.fork(`servers ${number}`), {
      minBytes: settings.minStoredBytes ?? Infinity,
      onEvent: (event) => this.#driver.handle(event),
      send: (to, response) => this.#perform({ type: 'send', to, message: response }),
      receive: (from, message) => this.#receive(from, message),
      onHeld: (from, result, isHeld) => world.holds.get(from)?.(result, isHeld),
    })
    this.#router = new VirtualRouter(this.process, world.network, pipes, {
      onMessage: (from, bytes) => this.#onMessage(from, bytes),
      onProgress: (peer) => this.#driver.handle({ type: 'peerProgressed', peer }),
      onDisconnect: (peer, reason) => this.#onDisconnect(peer, reason),
    })
    world.story.tell(this.process.name, () => 'starts')
  }

  /** The size of its tables. */
  get counts(): Readonly<Record<string, number>> {
    const content = this.servers.contentCount
    return { ...this.#machine.counts, files: this.#disk.fileCount, content }
  }

  checkInvariants(): void {
    this.#machine.checkInvariants()
  }

  /** Monitors are connected, so that there is more to do. */
  publish(): void {
    this.#driver.handle({ type: 'subscribersChanged', count: 1 })
    const sample = (): void => {
      const scheduler = { cpu: 0, rss: 0 }
      this.#driver.handle({ type: 'statisticsSampled', scheduler, rssFree: 0, turnP99Ms: 0 })
      this.process.after(STATUS_INTERVAL_MS, sample)
    }
    this.process.after(STATUS_INTERVAL_MS, sample)
  }

  #onMessage(from: Identity, bytes: Uint8Array): void {
    const message = decode(bytes)
    const { mutation } = this.#world
    if (Mutation.isResult(message) && mutation.isDue('schedulerLosesResults', 5)) return
    this.servers.receive(from, message)
  }

  #receive(from: Identity, message: Message): void {
    this.#world.story.tell(this.process.name, () => `<- ${from} ${describeMessage(message)}`)
    this.#watcher.onReceived(this.schedulerId, from, message)
    this.#driver.handle({ type: 'messageReceived', from, message })
    this.#world.journal.handled(message, 'scheduler')
  }

  #onDisconnect(peer: Identity, reason: string): void {
    this.#world.story.tell(this.process.name, () => `lost ${peer} ${reason}`)
    if (this.#world.mutation.name === 'schedulerMissesDisconnects') return
    this.servers.forget(peer)
    this.#watcher.onDisconnected(this.schedulerId, peer)
    this.#driver.handle({ type: 'peerDisconnected', peer })
  }

  #perform(action: SchedulerAction): void {
    switch (action.type) {
      case 'send':
        if (action.message.kind === 'objectResponse') {
          if (this.servers.take(action.to, action.message)) break
          if (this.#disk.take(action.to, action.message)) break
        }
        this.#send(action.to, encode(action.message))
        break
      case 'moveToDisk':
        this.#disk.write(action)
        break
      case 'removeFile':
        this.#disk.remove(action.path)
        break
      case 'removeStored':
        this.servers.remove(action)
        break
      case 'forward':
        this.#send(action.to, action.bytes)
        break
      case 'publish':
        encode(action.message)
        break
      case 'disconnect':
        this.#world.story.tell(this.process.name, () => `gives up ${action.peer}: ${action.reason}`)
        this.servers.forget(action.peer)
        this.#watcher.onDisconnected(this.schedulerId, action.peer)
        this.#router.disconnect(action.peer, action.reason)
        break
      case 'log':
        this.#world.story.tell(this.process.name, () => {
          return `(${action.level}) ${action.text} ${JSON.stringify(action.fields)}`
        })
        break
      case 'stop':
        this.#driver.stop()
        this.#router.close()
        break
      default:
    }
  }

  #send(to: Identity, bytes: Uint8Array): void {
    const message = decode(bytes)
    this.#world.story.tell(this.process.name, () => `-> ${to} ${describeMessage(message)}`)
    this.#watcher.onSent(this.schedulerId, to, message)
    this.#router.send(to, bytes)
    const { mutation } = this.#world
    const isTwice =
      (Mutation.isResult(message) && mutation.isDue('schedulerRepeatsResults', 5)) ||
      (message.kind === 'task' && mutation.isDue('schedulerRepeatsTasks', 10))
    if (!isTwice) return
    this.#watcher.onSent(this.schedulerId, to, message)
    this.#router.send(to, bytes)
  }
}
