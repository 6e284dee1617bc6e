// A client of the simulated world: behaves like src/client/traffic.ts and client/connection.ts. It
// lives in a process of its own, or in a processor, for the tasks that run there.

import { latin1ToBytes } from '#src/base/bytes.js'
import { OUR_FEATURES } from '#src/base/features.js'
import type { Identity, ObjectId, TaskId } from '#src/base/ids.js'
import type { InstantMs } from '#src/base/machine.js'
import { ClientMachine } from '#src/core/client/client-machine.js'
import type {
  ClientAction,
  ClientCoreOptions,
  ClientEvent,
  SharedAnswer,
} from '#src/core/client/events.js'
import { Driver } from '#src/runtime/driver.js'
import { decode, encode, type Message } from '#src/wire/message.js'
import { nthTaskId } from '#src/wire/run.js'
import { unpack } from '#src/wire/run.kit.js'
import { CheckedMachine, rethrow } from './checked-machine.js'
import { describeMessage, showId } from './describe.js'
import { Future, type FutureOutcome, type RunFutures } from './future.js'
import { valuesIn } from './processor-run.js'
import type { PipeSettings } from './virtual-pipe.js'
import { VirtualDealer } from './virtual-dealer.js'
import type { VirtualProcess } from './virtual-process.js'
import { objectIdFor, serializerIdOf, type World } from './world.js'

/** The parts of a client of a world. */
export interface ClientSetup {
  readonly name: string
  readonly identity: Identity
  readonly host: string
  readonly process: VirtualProcess
  /** The worker of the tasks in which it lives; '' = none. */
  readonly worker: Identity
  readonly settings: ClientSettings
  readonly pipes: PipeSettings
  /** The answer about an object with a name. */
  readonly onShared?: (ticket: number, answer: SharedAnswer) => void
}

/** Its configuration. */
export type ClientSettings = Pick<
  ClientCoreOptions,
  'timeoutMs' | 'heartbeatIntervalMs' | 'inlineLimitBytes'
>

/** A task, or several of them in one run. */
export type Owner = Future | RunFutures

type Event = ClientEvent<Owner>
type Action = ClientAction<Owner>

/** One client. */
export class ClientHost {
  readonly identity: Identity
  readonly process: VirtualProcess
  readonly #world: World
  readonly #setup: ClientSetup
  readonly #machine: ClientMachine<Owner>
  readonly #driver: Driver<Event, Action>
  readonly #dealer: VirtualDealer
  readonly #postponed: Event[] = []
  #isHandling = false
  #isCongested = false
  #isFlushWanted = false
  #hasEnded = false
  /** When it last heard from the scheduler, or had nothing to wait for. */
  lastHeard: InstantMs

  constructor(world: World, setup: ClientSetup) {
    const { identity, process, settings, pipes, host } = setup
    this.#world = world
    this.#setup = setup
    this.identity = identity
    this.process = process
    this.lastHeard = world.clock.now
    this.#machine = new ClientMachine<Owner>({
      identity,
      serializer: {
        id: serializerIdOf(identity),
        name: Buffer.from('serializer'),
        content: Buffer.from(`serializer of ${identity}`),
      },
      ...settings,
      reconnect: true,
      objectIdOf: (content) => this.objectIdOf(content),
      serializedValues: (packed) => valuesIn(unpack(packed, 1)[0]),
    })
    this.#driver = new Driver<Event, Action>({
      machine: new CheckedMachine(this.#machine, world.checkEvery),
      tick: { type: 'tick' },
      perform: (action) => this.#perform(action),
      onFault: rethrow,
      onDue: () => this.post({ type: 'tick' }),
      clock: process.timers,
    })
    const random = world.random.fork(`client ${setup.name}`)
    const handler = this.#dealerHandler()
    const { network } = world
    const rest = { network, settings: pipes, random, handler }
    this.#dealer = new VirtualDealer({ identity, host, process, ...rest })
  }

  get name(): string {
    return this.#setup.name
  }

  get settings(): ClientSettings {
    return this.#setup.settings
  }

  /** Whether it was closed, or shut the cluster down. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** The content of its tables. */
  get counts(): Readonly<Record<string, number>> {
    const { unfinishedTasks, waitingBytes, heldBytes } = this.#machine
    return { unfinishedTasks, waitingBytes, heldBytes }
  }

  /** The id under which it stores some content. */
  objectIdOf(content: Uint8Array): ObjectId {
    return objectIdFor(this.identity, Buffer.from(content).toString('latin1'))
  }

  checkInvariants(): void {
    this.#machine.checkInvariants()
  }

  /** Whether the result of a task can be an argument. */
  has(id: TaskId): boolean {
    return this.#machine.has(id)
  }

  /** Handles an event now, or after the one that is being handled. */
  post(event: Event): void {
    if (!this.process.isAlive) return
    this.#postponed.push(event)
    if (this.#isHandling) return
    this.#isHandling = true
    for (let next = this.#postponed.shift(); next !== undefined; next = this.#postponed.shift()) {
      this.#driver.handle(next)
    }
    this.#isHandling = false
  }

  #dealerHandler(): ConstructorParameters<typeof VirtualDealer>[0]['handler'] {
    return {
      onConnect: () => {
        this.#tell(() => 'connected')
        this.#isCongested = false
        this.#isFlushWanted = false
        this.post({ type: 'connected' })
      },
      onDisconnect: (reason) => {
        this.#tell(() => `disconnected ${reason}`)
        const text = reason === '' ? 'the scheduler closed the connection' : reason
        this.post({ type: 'disconnected', reason: text })
      },
      onConnectFailed: (reason) => this.post({ type: 'connectFailed', reason }),
      onMessage: (bytes) => {
        const message = decode(bytes)
        this.#tell(() => `<- ${describeMessage(message)}`)
        this.lastHeard = this.#world.clock.now
        this.post({ type: 'messageReceived', message })
        this.#world.journal.handled(message, 'client')
      },
      onProgress: () => {
        this.lastHeard = this.#world.clock.now
        this.post({ type: 'progressed' })
      },
      onDrain: () => {
        this.#isCongested = false
        if (this.#isFlushWanted) this.#flush()
      },
    }
  }

  #flush(): void {
    this.#isFlushWanted = this.#isCongested
    if (!this.#isCongested) this.post({ type: 'writable' })
  }

  #perform(action: Action): void {
    switch (action.type) {
      case 'send':
        this.#send(action.message)
        break
      case 'sendHeartbeat':
        this.#sendHeartbeat(action.latencyUS)
        break
      case 'requestFlush':
        this.process.after(action.when === 'soon' ? 0 : 0.01, () => this.#flush())
        break
      case 'log':
        this.#tell(() => `(${action.level}) ${action.text} ${JSON.stringify(action.fields)}`)
        break
      case 'finishTask':
        this.#finish(futureOf(action), {
          type: action.isSuccess ? 'value' : 'error',
          text: Buffer.from(action.payload).toString('latin1'),
          failedTaskId: action.failedTaskId,
        })
        break
      case 'endTask': {
        const { reason, detail, failedTaskId } = action
        for (let at = 0; at < action.count; at += 1) {
          const future = futureOf({ ...action, taskId: nthTaskId(action.taskId, at) })
          this.#finish(future, { type: 'end', reason, detail, failedTaskId })
        }
        break
      }
      case 'finishRun':
        for (const [at, entry] of unpack(action.packed, action.count).entries()) {
          const [value] = valuesIn(entry)
          this.#finish(futureOf({ ...action, taskId: nthTaskId(action.taskId, at) }), {
            type: 'value',
            text: Buffer.from(value ?? '').toString('latin1'),
            failedTaskId: undefined,
          })
        }
        break
      case 'offerResult':
        this.#onOffer(futureOf(action))
        break
      case 'answerShared': {
        const { ticket, answer } = action
        this.#tell(() => `${answer.outcome} ${showId(answer.id)}`)
        this.#setup.onShared?.(ticket, answer)
        break
      }
      case 'closeLink':
        this.#hasEnded = true
        this.#dealer.close()
        this.process.after(1, () => this.post({ type: 'linkClosed' }))
        break
      default:
    }
  }

  #send(message: Message): void {
    this.#tell(() => `-> ${describeMessage(message)}`)
    if (!this.#dealer.send(encode(message))) this.#isCongested = true
  }

  #sendHeartbeat(latencyUS: number): void {
    this.#send({
      kind: 'clientHeartbeat',
      resource: { cpu: 0, rss: 0 },
      latencyUS,
      features: OUR_FEATURES,
      runtime: 'node/20.19.0',
      worker: this.#setup.worker,
      wantsReport: false,
      wantsPeers: false,
      info: [],
    })
  }

  #finish(future: Future, outcome: FutureOutcome): void {
    this.#tell(() => `future ${showId(future.taskId)} ends: ${showOutcome(outcome)}`)
    future.end(outcome)
  }

  /** Like real futures: a result is fetched on request. */
  #onOffer(future: Future): void {
    const { taskId } = future
    this.#tell(() => `future ${showId(taskId)} is offered`)
    if (future.wish.type === 'now') {
      this.post({ type: 'resultRequested', taskId, owner: future })
      return
    }
    future.offered()
    this.post({ type: 'resultLeft', taskId, owner: future })
    const isDropped = future.wish.type === 'drop'
    this.process.after(future.wish.afterMs, () => {
      if (future.isOver || this.#hasEnded) return
      if (isDropped) {
        future.drop()
        this.post({ type: 'resultDropped', taskId })
      } else this.post({ type: 'resultRequested', taskId, owner: future })
    })
  }

  #tell(text: () => string): void {
    this.#world.story.tell(this.#setup.name, text)
  }
}

function futureOf({ owner, taskId }: { readonly owner: Owner; readonly taskId: TaskId }): Future {
  return owner instanceof Future ? owner : owner.of(taskId)
}

/** An outcome in a few words. */
export function showOutcome(outcome: FutureOutcome): string {
  const because = outcome.failedTaskId === undefined ? '' : ` (${showId(outcome.failedTaskId)})`
  if (outcome.type === 'end') return `${outcome.reason} ${outcome.detail}${because}`
  return `${outcome.type} ${outcome.text.slice(0, 120)}${because}`
}

/** A text as it travels. */
export function textBytes(text: string): Uint8Array {
  return latin1ToBytes(text)
}
