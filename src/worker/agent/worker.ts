// The shell of one worker: a DEALER to the scheduler, a processor process, and the machine between
// them. It turns frames and exits into events, and actions into frames and processes; the machine
// decides.

import { DisconnectedError } from '../../base/errors.js'
import { isStorageServer, NO_SCHEDULER_HERE } from '../../base/features.js'
import type { Identity } from '../../base/ids.js'
import type { Logger } from '../../base/logger.js'
import type { InstantMs } from '../../base/machine.js'
import type { WorkerAction, WorkerEvent } from '../../core/worker/events.js'
import type { HostUnits } from '../../core/worker/queue/units.js'
import type { HostObjects, WorkerObjects } from '../../core/worker/host-objects.js'
import type { WorkerMachine } from '../../core/worker/worker-machine.js'
import { Driver } from '../../runtime/driver.js'
import { OutputGate } from '../../runtime/log/output-gate.js'
import { MessageReader } from '../../runtime/message-reader.js'
import { leftMs } from '../../runtime/peer-info.js'
import type { ArrivalStore } from '../../runtime/storage/arrival.js'
import { ObjectServers } from '../../runtime/storage/servers.js'
import { ChildSampler, type ProcessSampler } from '../../runtime/process-statistics.js'
import type { ConnectReport } from '../../transport/bounded-log.js'
import { DealerSocket } from '../../transport/dealer.js'
import type { ConnectionEnd } from '../../transport/end.js'
import { type IncomingMessage, pingIntervalFor } from '../../transport/options.js'
import {
  encodeFrame,
  type Message,
  type ObjectResponse,
  type OutputStream,
  type PeerInfo,
  type WorkerHeartbeat,
  PLAIN_RESULT,
  type TaskResult,
} from '../../wire/message.js'
import { nthTaskId } from '../../wire/run.js'
import type { TakenResults } from '../link/frames.js'
import type { CheckedAgentOptions } from './options.js'
import { ExitReport } from './exit.js'
import { LastLines } from './output.js'
import { hostProcessor, type ProcessorHost } from './processor-host.js'
import { AgentFiles } from './files.js'
import { newMachine, type TaskHosting } from './hosting.js'
import type { SparePool } from './spare-pool.js'

/** Why a worker or an agent stopped. */
export interface AgentEnd {
  /** Why it has ended, as a text. */
  readonly reason: string
  /** Whether it stopped for any reason other than a request to stop. */
  readonly isFailure: boolean
}

/** What a worker needs. */
export interface AgentWorkerOptions {
  readonly identity: Identity
  /** What it reports about itself to the scheduler. */
  readonly info: PeerInfo
  /** The options of the agent. */
  readonly settings: CheckedAgentOptions
  /** The same for all workers of the agent. */
  readonly agentId: string
  /** The units that all workers of the agent share. */
  readonly units: HostUnits
  /** Adds the worker to each line. */
  readonly logger: Logger
  /** Samples this process, for all of its workers. */
  readonly sampler: ProcessSampler
  readonly report: ConnectReport
  /** Processors that replace lost ones. */
  readonly spares: SparePool
  /** What the workers of the agent fetch together. */
  readonly hostObjects: HostObjects
  /** Where large content goes that they fetch. */
  readonly store: ArrivalStore
  /** Undefined: processors of Node run its tasks. */
  readonly hosting: TaskHosting | undefined
}

/** A worker that has stopped waits for object storage servers for this long. */
const MAX_CLOSE_MS = 2_000

/** Output of user code. */
interface Printed {
  readonly stream: OutputStream
  readonly content: Uint8Array
}

/** One worker of an agent. */
export class AgentWorker {
  /**
   * Resolves when the scheduler has answered for the first time; rejects if the worker stops first.
   */
  readonly ready: Promise<void>
  /** Resolves when the worker has stopped, with its connection and its processor. */
  readonly ended: Promise<AgentEnd>
  readonly #identity: Identity
  readonly #settings: CheckedAgentOptions
  readonly #lines = new LastLines()
  /** Keeps its lines; the output of tasks is kept before it goes to a log. */
  readonly #logger: Logger
  readonly #outputLogger: Logger
  readonly #sampler: ProcessSampler
  readonly #spares: SparePool
  readonly #hosting: TaskHosting | undefined
  readonly #report: ConnectReport
  readonly #machine: WorkerMachine
  readonly #driver: Driver<WorkerEvent, WorkerAction>
  readonly #socket: DealerSocket
  readonly #files = new AgentFiles()
  readonly #objects: WorkerObjects
  readonly #servers: ObjectServers
  readonly #reader = new MessageReader((text, fields) => this.#logger.warn(text, fields))
  #processor: ProcessorHost | undefined
  #childSampler: { readonly pid: number; readonly sampler: ChildSampler } | undefined
  readonly #outputGate = new OutputGate({
    send: (_client, frame) => this.#onSent(this.#socket.send(frame)),
    queuedBytes: () => this.#socket.queuedBytes,
  })
  readonly #exits = new ExitReport((event) => this.#driver.handle(event))
  #isCongested = false
  #isFinished = false
  #settleReady: { resolve: () => void; reject: (error: Error) => void } | undefined
  #resolveEnded: (end: AgentEnd) => void = () => {}

  /** Connects and starts its processor. */
  constructor(options: AgentWorkerOptions) {
    const { identity, settings, logger, sampler, report, spares } = options
    this.#identity = identity
    this.#spares = spares
    this.#hosting = options.hosting
    this.#report = report
    this.#settings = settings
    this.#logger = this.#lines.of(logger)
    this.#outputLogger = logger
    this.#sampler = sampler
    this.ready = new Promise((resolve, reject) => {
      this.#settleReady = { resolve, reject }
    })
    // A rejection that the caller does not await is not an unhandled one.
    this.ready.catch(() => {})
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve
    })
    this.#machine = newMachine(options)
    this.#driver = new Driver({
      machine: this.#machine,
      tick: { type: 'tick' },
      perform: (action) => this.#perform(action),
      onFault: (error) => this.#onFault(error),
    })
    const isNear = (): boolean => this.#files.isNear && !this.#servers.isUsed
    this.#objects = options.hostObjects.join({
      send: (message) => this.#send(message),
      receive: (message) => this.#receive(message),
      get isNear() {
        return isNear()
      },
    })
    this.#servers = new ObjectServers({
      address: settings.address,
      logger: this.#logger,
      tls: settings.tls,
      send: (message) => this.#socket.send(encodeFrame(message)),
      receive: (response) => this.#onObjects(response),
      onDrain: () => this.#onDrain(),
      onHeld: ({ taskId, count }, isHeld) =>
        this.#driver.handle({ type: 'resultHeld', taskId, count, isHeld }),
      arrivals: options.store,
      onNear: (offer) => this.#files.onServerOffer(offer, this.#processor),
    })
    this.#socket = this.#connect(identity, report)
    this.#driver.handle({ type: 'started' })
  }

  /**
   * Shuts down gracefully: running tasks get some time to finish (`drainMs`, by default that of the
   * options), unless it is urgent or this is the second call. Resolves when everything has stopped.
   */
  async stop(isUrgent: boolean, drainMs: number = this.#settings.drainMs): Promise<void> {
    this.#exits.onStopRequested()
    this.#driver.handle({ type: 'stopRequested', isUrgent, drainMs })
    await this.ended
  }

  /** Units have become free that a task may be waiting for. */
  nudge(): void {
    if (!this.#isFinished) this.#driver.handle({ type: 'tick' })
  }

  /** See `WorkerMachine.idleSince`; -Infinity once it has stopped. */
  get idleSince(): InstantMs | undefined {
    return this.#isFinished ? -Infinity : this.#machine.idleSince
  }

  /** How many tasks it still runs while it is shutting down. */
  get drainingCount(): number {
    return this.#isFinished ? 0 : this.#machine.drainingCount
  }

  #connect(identity: Identity, report: ConnectReport): DealerSocket {
    const handler = {
      onMessages: (messages: readonly IncomingMessage[]) => this.#onMessages(messages),
      onConnect: () => {
        report.onConnected()
        this.#driver.handle({ type: 'connected' })
      },
      onDisconnect: (reason: string) => this.#onDisconnect(reason),
      onDrain: () => this.#onDrain(),
      onConnectFailed: (end: ConnectionEnd) => report.onFailed(this.#logger, end),
      onProgress: () => this.#driver.handle({ type: 'schedulerProgressed' }),
    }
    const { address, tls, heartbeatIntervalMs } = this.#settings
    const pingIntervalMs = pingIntervalFor(heartbeatIntervalMs)
    const options = { queueWhileDisconnected: false, logger: this.#logger, tls, pingIntervalMs }
    return new DealerSocket(address, identity, handler, options)
  }

  #onMessages(messages: readonly IncomingMessage[]): void {
    for (const frame of messages) {
      const message = this.#reader.read(frame)
      if (message?.kind === 'objectFiles') {
        const refusal = this.#files.onOffer(message, this.#processor)
        if (refusal !== undefined) this.#send(refusal)
      } else if (message?.kind === 'storageServers') this.#servers.onServers(message)
      else if (message?.kind === 'objectResponse') {
        const here = this.#servers.incoming(message)
        if (here !== undefined) this.#onObjects(here)
      } else if (message !== undefined) this.#objects.incoming(message)
    }
  }

  #onObjects(message: ObjectResponse): void {
    const { content: objectContent, missing: objectIds } = this.#files.checked(message)
    const response = objectIds.length === 0 ? message : { ...message, objectContent }
    this.#objects.incoming(response)
    if (objectIds.length === 0) return
    for (const request of this.#files.requestFor(objectIds)) this.#send(request)
  }

  #receive(message: Message): void {
    if (message.kind === 'workerHeartbeatEcho' && isStorageServer(message))
      return this.#finish({ reason: NO_SCHEDULER_HERE, isFailure: true })
    if (!this.#isFinished) this.#driver.handle({ type: 'messageReceived', message })
  }

  #onDisconnect(reason: string): void {
    this.#isCongested = false
    this.#servers.reset()
    this.#objects.onDisconnected()
    this.#files.reset(this.#processor)
    const why = reason === '' ? 'the scheduler closed it' : reason
    this.#driver.handle({ type: 'disconnected', reason: why })
  }

  #onDrain(): void {
    this.#isCongested = false
    this.#driver.handle({ type: 'drained' })
  }

  #perform(action: WorkerAction): void {
    switch (action.type) {
      case 'send':
        return this.#sendOwn(action.message)
      case 'sendHeartbeat':
        return this.#send(this.#measured(action.heartbeat))
      case 'dispatch':
        this.#spares.expectTasks()
        return this.#processor?.dispatch(action.bytes, action.units)
      case 'sendToProcessor':
        if (action.message.kind === 'objectInstruction') this.#objects.onForgotten(action.message)
        return this.#processor?.send(encodeFrame(action.message))
      case 'sendOutput':
        if (action.mayLeave && this.#socket.isConnected) return this.#outputGate.pass(action.output)
        return this.#outputGate.drop(action.output)
      case 'logOutput':
        return this.#processor?.log(action.stream, action.content, action.fields)
      case 'sendLines':
        return this.#sendLines(action.number, action.most)
      case 'keepFile':
        return this.#files.keep(action.file, action.isKept)
      case 'startProcessor':
        return this.#startProcessor(action.processor)
      case 'stopTask':
        this.#exits.expect()
        return this.#processor?.stop(action.taskId, action.count, action.reason)
      case 'askStatus':
        return this.#processor?.askStatus(action.dispatchNumber, action.count)
      case 'askStack':
        return this.#processor?.askStack()
      case 'retractTasks':
        return this.#processor?.retract(action.dispatchNumbers)
      case 'collectGarbage':
        return this.#processor?.collectGarbage(action.aboveBytes)
      case 'killProcessor':
        this.#exits.expect()
        return this.#processor?.kill()
      case 'endProcessor':
        this.#exits.expect()
        void this.#processor?.end()
        return undefined
      case 'reconnect':
        return this.#socket.reconnect(action.reason)
      case 'registered':
        this.#logger.info('registered with the scheduler')
        return this.#settleReady?.resolve()
      case 'log':
        return this.#logger[action.level](action.text, action.fields)
      case 'end':
        return this.#finish({ reason: this.#explained(action), isFailure: action.isFailure })
    }
  }

  #sendOwn(message: Message): void {
    const sent = this.#objects.outgoing(this.#files.sendable(message))
    if (sent !== undefined) this.#send(sent)
  }

  #send(message: Message): void {
    this.#onSent(this.#servers.send(message))
  }

  #sendLines(number: number, most: number): void {
    const answer = { kind: 'operatorAnswer', number, outcome: 'done', note: '' } as const
    const lines = this.#lines.last(most)
    this.#send({ ...answer, tasks: [], stack: [], lines, worker: this.#identity, objects: [] })
  }

  /** A message was sent. `hasRoom`: more may be sent now. */
  #onSent(hasRoom: boolean): void {
    if (hasRoom || this.#isCongested || !this.#socket.isConnected) return
    this.#isCongested = true
    // The machine is notified after this action, not within it; by then it may have passed.
    queueMicrotask(() => {
      if (this.#isCongested) this.#driver.handle({ type: 'congested' })
    })
  }

  #startProcessor(processor: number): void {
    const { address, inlineLimitBytes, taskTimeoutMs, processor: options } = this.#settings
    const handle = (event: WorkerEvent): void => this.#driver.handle(event)
    const own = this.#hosting?.newProcessor()
    const host = own ?? this.#spares.take() ?? hostProcessor(options, this.#outputLogger)
    this.#processor = host
    this.#exits.onStarted()
    host.serve({
      facts: { address, worker: this.#identity, inlineLimitBytes, taskTimeoutMs },
      logger: this.#logger,
      outputLogger: this.#outputLogger,
      handler: {
        onReady: (pid) => handle({ type: 'processorReady', processor, pid }),
        onResult: (result) => handle({ type: 'taskAnswered', processor, result }),
        onUpdate: (update) => handle({ type: 'taskUpdated', processor, update }),
        onOutput: (output) => {
          this.#lines.add(output.stream, output.content, output.taskId)
          handle({ type: 'outputReported', processor, output })
        },
        onPrinted: (stream, content) => this.#onPrinted(host, processor, { stream, content }),
        onStatus: (status) => handle({ type: 'statusReported', processor, status }),
        onTaken: (results) => {
          const result = resultOf(results, this.#identity)
          handle({ type: 'taskAnswered', processor, result })
        },
        onStack: (report) => handle({ type: 'stackReported', processor, report }),
        onFiles: (proof) => this.#onProof(proof),
        onObjectsLost: (objectIds) => {
          this.#objects.onLost(objectIds)
          handle({ type: 'objectsLost', processor, objectIds })
        },
        onRetracted: (asked, retracted) =>
          handle({ type: 'tasksRetracted', processor, asked, retracted }),
        onExit: (death, lastRun) => {
          this.#objects.onProcessorGone()
          this.#exits.onExited({ type: 'processorExited', processor, death, lastRun })
        },
      },
    })
    this.#files.tell(host)
  }

  #onProof(proof: Uint8Array): void {
    const message = this.#files.onProof(proof)
    if (message !== undefined) this.#send(message)
  }

  /** Output that arrives after the machine has finished goes straight to the log. */
  #onPrinted(host: ProcessorHost, processor: number, { stream, content }: Printed): void {
    this.#lines.add(stream, content)
    if (this.#isFinished || host !== this.#processor) host.log(stream, content)
    else this.#driver.handle({ type: 'outputRead', processor, stream, content })
  }

  #measured(heartbeat: WorkerHeartbeat): WorkerHeartbeat {
    const { resource, rssFree } = this.#sampler.sample()
    const processors = heartbeat.processors.map((processor) => {
      return { ...processor, resource: this.#childSamplerOf(processor.pid).sample() }
    })
    const { endsMS } = this.#settings
    const info = heartbeat.info.map((told) => ({ ...told, endsInMS: leftMs(endsMS) }))
    return { ...heartbeat, agent: resource, rssFree, processors, info }
  }

  #childSamplerOf(pid: number): ChildSampler {
    if (this.#childSampler?.pid !== pid) {
      this.#childSampler = { pid, sampler: new ChildSampler(pid) }
    }
    return this.#childSampler.sampler
  }

  #onFault(error: unknown): void {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
    this.#logger.error('internal error, shutting down the worker', { error: text })
    this.#finish({ reason: 'a bug in the worker', isFailure: true })
  }

  /** Adds why the last attempt to connect failed, if the scheduler was not reached. */
  #explained({ reason, isFailure }: AgentEnd): string {
    const { lastReason } = this.#report
    return isFailure && lastReason !== undefined ? `${reason} (${lastReason})` : reason
  }

  #finish({ reason, isFailure }: AgentEnd): void {
    if (this.#isFinished) return
    this.#isFinished = true
    this.#driver.stop()
    this.#reader.close()
    this.#files.close()
    this.#objects.close()
    this.#settleReady?.reject(new DisconnectedError(`the worker has stopped: ${reason}`))
    void Promise.all([this.#closeLinks(), this.#processor?.end()]).then(() => {
      this.#machine.giveUnitsBack()
      this.#resolveEnded({ reason, isFailure })
    })
  }

  /** What was sent is written first. */
  async #closeLinks(): Promise<void> {
    await this.#servers.idle(MAX_CLOSE_MS)
    await this.#socket.close()
    this.#servers.reset()
  }
}

/** The TaskResult of results that a guardian has sent. */
function resultOf(taken: TakenResults, worker: Identity): TaskResult {
  const { id, from, attempt, count } = taken
  const packed = Buffer.from(taken.packed, 'base64')
  const metadata = Buffer.from(taken.metadata, 'base64')
  const what = { taskId: nthTaskId(id, from), attempt, count, packed, metadata, worker }
  return { kind: 'taskResult', status: 'success', results: [], ...PLAIN_RESULT, ...what }
}
