// One worker of an agent of the simulated world: behaves like src/worker/agent/worker.ts.

import type { Identity } from '#src/base/ids.js'
import type { WorkerAction, WorkerCoreOptions, WorkerEvent } from '#src/core/worker/events.js'
import type { HostObjects, WorkerObjects } from '#src/core/worker/host-objects.js'
import type { Units } from '#src/core/worker/queue/units.js'
import { WorkerMachine } from '#src/core/worker/worker-machine.js'
import { Driver } from '#src/runtime/driver.js'
import { decode, encode, type Message, type TaskResult } from '#src/wire/message.js'
import { countOf, nthTaskId } from '#src/wire/run.js'
import type { AgentUnits } from './agent-units.js'
import { CheckedMachine, rethrow } from './checked-machine.js'
import type { ClientSettings } from './client-host.js'
import { describeMessage } from './describe.js'
import { Mutation } from './mutation.js'
import { VirtualProcessor } from './processor.js'
import { VirtualDealer } from './virtual-dealer.js'
import type { VirtualStore } from './virtual-store.js'
import type { PipeSettings } from './virtual-pipe.js'
import type { VirtualProcess } from './virtual-process.js'
import { objectIdFor, serializerIdOf, type World } from './world.js'

/** The configuration of the workers of a world. */
export type WorkerSettings = Omit<
  WorkerCoreOptions,
  'identity' | 'runtime' | 'units' | 'agentId' | 'serializerIdOf' | 'newResultId' | 'encodeError'
>

/** The parts of a worker. */
export interface WorkerSetup {
  readonly identity: Identity
  readonly host: string
  readonly process: VirtualProcess
  readonly units: AgentUnits
  readonly agentId: string
  readonly settings: WorkerSettings
  readonly clientSettings: ClientSettings
  readonly pipes: PipeSettings
  /** What the workers of the agent fetch together. */
  readonly hostObjects: HostObjects
  readonly store: VirtualStore
  readonly onEnd: () => void
}

const KILL_DELAY_MS = 3_000
/** How many workers find out, some time, that the scheduler is on their machine. */
const NEAR_SHARE = 0.2

/** One worker. */
export class WorkerHost {
  readonly identity: Identity
  readonly #world: World
  readonly #setup: WorkerSetup
  readonly #machine: WorkerMachine
  readonly #driver: Driver<WorkerEvent, WorkerAction>
  readonly #dealer: VirtualDealer
  readonly #objects: WorkerObjects
  #processor: VirtualProcessor | undefined
  /** The tasks of the current processor, by their numbers there. */
  #dispatched: string[] = []
  #isCongested = false
  #hasEnded = false
  #isRegistered = false
  #isLeaving = false

  constructor(world: World, setup: WorkerSetup) {
    const { identity, process, settings, units, agentId } = setup
    this.#world = world
    this.#setup = setup
    this.identity = identity
    this.#machine = new WorkerMachine({
      ...settings,
      identity,
      units: units.units,
      agentId,
      runtime: 'node/20.19.0',
      serializerIdOf,
      newResultId: (source) => objectIdFor(source, `result ${world.nextNumber()}`),
      encodeError: (error) => Buffer.from(`!${error.name}:${error.message}`, 'latin1'),
    })
    this.#driver = new Driver({
      machine: new CheckedMachine(this.#machine, world.checkEvery),
      tick: { type: 'tick' },
      perform: (action) => this.#perform(action),
      onFault: rethrow,
      clock: process.timers,
    })
    const random = world.random.fork(`nearness ${identity}`)
    const nearAt =
      world.clock.now + (random.chance(NEAR_SHARE) ? random.spread(1, 5_000) : Infinity)
    this.#objects = setup.hostObjects.join({
      send: (message) => this.#send(message),
      receive: (message) => {
        if (!this.#hasEnded) this.#driver.handle({ type: 'messageReceived', message })
      },
      get isNear() {
        return world.clock.now >= nearAt
      },
    })
    this.#dealer = this.#connect()
    process.onDeath(() => this.#onAgentDeath())
    this.#driver.handle({ type: 'started' })
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** Whether it accepts tasks, as far as it knows. */
  get isServing(): boolean {
    return this.#isRegistered && !this.#hasEnded && !this.#isLeaving && this.#dealer.isConnected
  }

  get process(): VirtualProcess {
    return this.#setup.process
  }

  /** The current processor. */
  get processor(): VirtualProcessor | undefined {
    return this.#processor?.isGone === true ? undefined : this.#processor
  }

  checkInvariants(): void {
    this.#machine.checkInvariants()
    this.#setup.hostObjects.checkInvariants()
  }

  /** Asks it to leave, immediately if it is urgent. */
  stop(isUrgent: boolean): void {
    this.#isLeaving = true
    this.#driver.handle({ type: 'stopRequested', isUrgent })
  }

  /** Units have become free that a task may wait for. */
  nudge(): void {
    if (!this.#hasEnded) this.#driver.handle({ type: 'tick' })
  }

  #connect(): VirtualDealer {
    const { identity, host, process, pipes } = this.#setup
    return new VirtualDealer({
      identity,
      host,
      process,
      network: this.#world.network,
      settings: pipes,
      random: this.#world.random.fork(`worker ${identity}`),
      handler: {
        onConnect: () => {
          this.#tell(() => 'connected')
          this.#world.holds.set(identity, this.#newHold())
          this.#driver.handle({ type: 'connected' })
        },
        onDisconnect: (reason) => {
          this.#tell(() => `disconnected ${reason}`)
          this.#isCongested = false
          this.#world.holds.delete(identity)
          this.#objects.onDisconnected()
          this.#driver.handle({ type: 'disconnected', reason })
        },
        onConnectFailed: () => {},
        onMessage: (bytes) => this.#onMessage(decode(bytes)),
        onProgress: () => this.#driver.handle({ type: 'schedulerProgressed' }),
        onDrain: () => {
          this.#isCongested = false
          this.#driver.handle({ type: 'drained' })
        },
      },
    })
  }

  /** What this connection does with results that wait for their content. */
  #newHold(): (result: TaskResult, isHeld: boolean) => void {
    const { holds } = this.#world
    const hold = (result: TaskResult, isHeld: boolean): void => {
      this.process.after(0, () => {
        if (holds.get(this.identity) !== hold) return
        this.#tell(() => `${isHeld ? 'waits with' : 'has sent'} ${describeMessage(result)}`)
        const { taskId, count } = result
        this.#driver.handle({ type: 'resultHeld', taskId, count, isHeld })
      })
    }
    return hold
  }

  #onMessage(message: Message): void {
    this.#tell(() => `<- ${describeMessage(message)}`)
    const { mutation } = this.#world
    if (message.kind === 'taskCancel' && mutation.name === 'workerMissesCancels') return
    this.#objects.incoming(this.#setup.store.arrived(message))
    this.#world.journal.handled(message, 'worker')
  }

  #perform(action: WorkerAction): void {
    switch (action.type) {
      case 'send': {
        const sent = this.#objects.outgoing(action.message)
        return sent === undefined ? undefined : this.#send(sent)
      }
      case 'sendHeartbeat':
        return this.#send(action.heartbeat)
      case 'dispatch':
        return this.#dispatch(action.bytes, action.units)
      case 'sendToProcessor':
        if (action.message.kind === 'objectInstruction') this.#objects.onForgotten(action.message)
        return this.#processor?.send(encode(action.message))
      case 'startProcessor':
        return this.#startProcessor(action.processor)
      case 'stopTask':
        return this.#processor?.stop(action.taskId, action.count, action.reason)
      case 'askStatus':
        return this.#processor?.askStatus(action.dispatchNumber, action.count)
      case 'retractTasks':
        return this.#processor?.retract(action.dispatchNumbers)
      case 'collectGarbage':
        return this.#processor?.collectGarbage()
      case 'killProcessor':
        return this.#processor?.kill()
      case 'endProcessor':
        return this.#processor?.end()
      case 'registered':
        this.#isRegistered = true
        return undefined
      case 'log':
        return this.#tell(() => {
          return `(${action.level}) ${action.text} ${JSON.stringify(action.fields)}`
        })
      case 'end':
        return this.#end(action.reason)
      default:
        return undefined
    }
  }

  #send(message: Message): void {
    const { mutation } = this.#world
    const confused = Mutation.isResult(message) && mutation.isDue('workerConfusesResults', 5)
    const sent: Message =
      confused && message.kind === 'taskResult'
        ? { ...message, bytes: undefined, inlineResults: [Buffer.from('another value')] }
        : message
    this.#tell(() => `-> ${describeMessage(sent)}`)
    const bytes = encode(sent)
    const isTwice = Mutation.isResult(message) && mutation.isDue('workerRepeatsResults', 5)
    for (let left = isTwice ? 2 : 1; left > 0; left -= 1) this.#sendBytes(bytes)
  }

  #sendBytes(bytes: Uint8Array): void {
    if (this.#dealer.send(bytes) || this.#isCongested || !this.#dealer.isConnected) return
    this.#isCongested = true
    this.process.after(0, () => {
      if (this.#isCongested) this.#driver.handle({ type: 'congested' })
    })
  }

  #dispatch(bytes: Uint8Array, units: Units | undefined): void {
    for (const id of taskIdsIn(bytes)) {
      this.#dispatched.push(id)
      this.#setup.units.onDispatched(this, id, units)
    }
    this.#processor?.send(bytes)
  }

  #startProcessor(number: number): void {
    this.#dispatched = []
    const { process, settings, clientSettings, pipes, host } = this.#setup
    const handle = (event: WorkerEvent): void => this.#driver.handle(event)
    this.#processor = new VirtualProcessor(this.#world, {
      agent: process,
      worker: this.identity,
      host,
      inlineLimitBytes: settings.inlineLimitBytes,
      store: this.#setup.store,
      killDelayMs: KILL_DELAY_MS,
      clientSettings,
      pipes,
      handler: {
        onReady: (pid) => handle({ type: 'processorReady', processor: number, pid }),
        onResult: (result) => {
          for (let n = 0; n < countOf(result); n += 1) {
            this.#setup.units.onDone(this, nthTaskId(result.taskId, n))
          }
          handle({ type: 'taskAnswered', processor: number, result })
        },
        onUpdate: (update) => handle({ type: 'taskUpdated', processor: number, update }),
        onOutput: (output) => handle({ type: 'outputReported', processor: number, output }),
        onPrinted: () => {},
        onStack: () => {},
        onTaken: () => {},
        onFiles: () => {},
        onObjectsLost: (objectIds) => {
          this.#objects.onLost(objectIds)
          handle({ type: 'objectsLost', processor: number, objectIds })
        },
        onStatus: (status) => handle({ type: 'statusReported', processor: number, status }),
        onRetracted: (asked, retracted) => {
          for (const index of retracted) {
            this.#setup.units.onDone(this, this.#dispatched[index] ?? '')
          }
          handle({ type: 'tasksRetracted', processor: number, asked, retracted })
        },
        onExit: (death, lastRun) => {
          this.#setup.units.onProcessorGone(this)
          this.#objects.onProcessorGone()
          if (this.#hasEnded) this.#machine.giveUnitsBack()
          handle({ type: 'processorExited', processor: number, death, lastRun })
        },
      },
    })
    this.#tell(() => `starts ${this.#processor?.name}`)
  }

  #end(reason: string): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#world.holds.delete(this.identity)
    this.#tell(() => `ends: ${reason}`)
    this.#driver.stop()
    this.#objects.close()
    this.#dealer.close()
    if (this.processor === undefined) this.#machine.giveUnitsBack()
    else this.#processor?.end()
    this.#setup.onEnd()
  }

  /** The guardian notices that the agent has ended. */
  #onAgentDeath(): void {
    this.#hasEnded = true
    this.#world.holds.delete(this.identity)
    this.#driver.stop()
    const processor = this.#processor
    this.#world.clock.after(1, () => {
      processor?.end()
    })
  }

  #tell(text: () => string): void {
    this.#world.story.tell(this.identity, text)
  }
}

/** The ids in the bytes of a Task. */
function taskIdsIn(bytes: Uint8Array): readonly string[] {
  const message = decode(bytes)
  if (message.kind !== 'task') return []
  return Array.from({ length: countOf(message) }, (_, n) => nthTaskId(message.taskId, n))
}
