// A processor process of the simulated world: a main thread that runs tasks as src/worker/
// worker/processor/runner.ts does, and a guardian beside it that answers whatever the main thread is busy with.
//
// What user code would do is in a program (program.ts). A task that blocks holds the main thread;
// one that does not is pending; one with children submits them with a client of its own, and waits.

import { objectIdOf, taskId, type Identity, type ObjectId, type TaskId } from '#src/base/ids.js'
import type { InstantMs } from '#src/base/machine.js'
import type { LastRun, RunStatus, StopReason } from '#src/core/worker/events.js'
import {
  decode,
  type Message,
  type ObjectContent,
  type Task,
  type TaskResult,
} from '#src/wire/message.js'
import { countOf, nthTaskId } from '#src/wire/run.js'
import { DEFAULT_TASK_FLAGS, decodeTaskFlags } from '#src/wire/metadata.js'
import type { ProcessorHostHandler } from '#src/worker/agent/processor-host.js'
import { NestedClient } from './nested-client.js'
import type { DeathRecord } from './journal.js'
import { childErrorOf, errorOf, valueOf, type Program } from './program.js'
import { ProcessorQueue } from './processor-queue.js'
import { ProcessorReports } from './processor-reports.js'
import { ProcessorRun, type ResultPlace, type RunInput, tasksOf } from './processor-run.js'
import { ProcessorVoice } from './processor-voice.js'
import type { Random } from './random.js'
import type { ClientSettings } from './client-host.js'
import type { PipeSettings } from './virtual-pipe.js'
import { Violation } from './violation.js'
import type { VirtualProcess } from './virtual-process.js'
import type { VirtualStore } from './virtual-store.js'
import { newProcess, objectIdFor, serializerIdOf, type World } from './world.js'

/** The parts of a processor. */
export interface ProcessorSetup {
  readonly agent: VirtualProcess
  readonly worker: Identity
  /** Its position, for its client's connection. */
  readonly host: string
  readonly inlineLimitBytes: number
  /** The files of its agent. */
  readonly store: VirtualStore
  readonly killDelayMs: number
  readonly clientSettings: ClientSettings
  readonly pipes: PipeSettings
  /** Notifies the agent, in its process. */
  readonly handler: ProcessorHostHandler
}

/** The longest turn of the event loop, except that a longer task finishes. */
const MAX_BURST_MS = 5
/** A task that has run for this long: its guardian sends the results before it. */
const LONG_MS = 50
const LONG_TASK_MS = 1
/** A result waits for the next one only if that is faster. */
const MAX_HOLD_MS = 0.2
const END_MS = 5
/** How many processors lose objects, and how many of their objects these lose. */
const [LOSING_SHARE, LOST_SHARE] = [0.1, 0.1]

/** One processor. */
export class VirtualProcessor {
  readonly name: string
  readonly main: VirtualProcess
  readonly guardian: VirtualProcess
  readonly #world: World
  readonly #setup: ProcessorSetup
  readonly #objects = new Map<ObjectId, Uint8Array>()
  /** Objects whose files were gone. */
  readonly #lost = new Set<ObjectId>()
  /** Which objects those are; undefined: none. */
  readonly #losses: Random | undefined
  /** Its tasks whose end has not been reported. */
  readonly #given = new Set<TaskId>()
  readonly #queue = new ProcessorQueue()
  readonly #voice: ProcessorVoice
  readonly #reports: ProcessorReports
  /** Started, and not ended. None is abandoned. */
  readonly #pending = new Set<ProcessorRun>()
  /** Started, not ended, not abandoned: those on the board. */
  readonly #started = new Set<ProcessorRun>()
  readonly #zombies = new Set<ProcessorRun>()
  #current: ProcessorRun | undefined
  #arrivals = 0
  #last: ResultPlace | undefined
  #burstEnd: InstantMs = 0
  readonly #durations = new Map<string, number>()
  #client: NestedClient | undefined
  /** Messages that it has not read. */
  #unreadCount = 0
  #isTaskLast = false
  #isGone = false
  #isFrozen = false

  constructor(world: World, setup: ProcessorSetup) {
    const number = world.nextNumber()
    this.name = `processor-${number}`
    this.#world = world
    this.#setup = setup
    this.#voice = new ProcessorVoice(world.clock, setup.agent)
    this.#reports = this.#newReports()
    this.main = newProcess(world, this.name)
    this.guardian = newProcess(world, `${this.name}-guardian`)
    const losses = world.random.fork(`losses ${number}`)
    this.#losses = losses.chance(LOSING_SHARE) ? losses : undefined
    // Messages to it before it is ready wait.
    this.main.hold()
    world.clock.after(world.random.between(10, 60), () => {
      if (this.#isGone) return
      this.main.release()
      this.main.deliver(() => this.#voice.tell(() => setup.handler.onReady(number)))
    })
  }

  get isGone(): boolean {
    return this.#isGone
  }

  #newReports(): ProcessorReports {
    const { worker, handler, inlineLimitBytes } = this.#setup
    return new ProcessorReports({
      worker,
      inlineLimitBytes,
      voice: this.#voice,
      keep: (run, bytes) => this.#keep(run, bytes),
      onResult: (result) => this.#onResult(result),
      onUpdate: (update) => handler.onUpdate(update),
    })
  }

  #onResult(result: TaskResult): void {
    for (let n = 0; n < countOf(result); n += 1) this.#given.delete(nthTaskId(result.taskId, n))
    this.#setup.handler.onResult(result)
  }

  /** A message from the agent. */
  send(bytes: Uint8Array): void {
    const message = decode(bytes)
    this.#isTaskLast = message.kind === 'task'
    if (message.kind === 'task') {
      for (let n = 0; n < countOf(message); n += 1) this.#given.add(nthTaskId(message.taskId, n))
    }
    this.#inMain(() => this.#onMessage(message))
  }

  /** Stops consecutive tasks. */
  stop(id: TaskId, count: number, reason: StopReason): void {
    this.#isTaskLast = false
    this.#inMain(() => {
      for (let n = 0; n < count; n += 1) this.#stop(nthTaskId(id, n), reason)
    })
  }

  askStatus(dispatchNumber: number, count: number): void {
    this.#inGuardian(() => {
      const status = this.#statusOf(dispatchNumber, count)
      const taken = status.runningMs > LONG_MS ? this.#reports.take() : undefined
      if (taken !== undefined) this.#voice.tellSoon(() => this.#onResult(taken))
      this.#voice.tellSoon(() => this.#setup.handler.onStatus(status))
    })
  }

  retract(asked: readonly number[]): void {
    this.#inGuardian(() => {
      const retracted = asked.filter((number) => this.#queue.claim(number))
      this.#voice.tellSoon(() => this.#setup.handler.onRetracted(asked, retracted))
    })
  }

  /** It must have nothing to do, or a task would stop. */
  collectGarbage(): void {
    const [run] = this.#started
    if (run !== undefined) throw new Violation('run', 'garbage is collected amid a task')
  }

  /** SIGTERM, and SIGKILL after a while. */
  kill(): void {
    const delayMs = this.#isFrozen ? this.#setup.killDelayMs : 1
    this.#world.clock.after(delayMs, () => this.#die('told', 'unknown', { signal: 'SIGTERM' }))
  }

  /** Its worker leaves: it ends by itself, without a report. */
  end(): void {
    this.#voice.end()
    this.#world.clock.after(END_MS, () => this.#die('told', 'unknown', { signal: 'SIGTERM' }))
  }

  /** It is ended from outside: SIGKILL. */
  strike(): void {
    this.#die('fault', 'unknown', { signal: 'SIGKILL' })
  }

  /** It ends by itself while it runs nothing: a timer of an earlier task. */
  exitIdle(): void {
    if (!this.main.isRunning || this.#started.size > 0) return
    this.#flush()
    this.#die('fault', 'nothing', { exitCode: 1 })
  }

  freeze(): void {
    if (this.#isFrozen || this.#isGone) return
    this.#isFrozen = true
    this.main.hold()
    this.guardian.hold()
  }

  thaw(): void {
    if (!this.#isFrozen) return
    this.#isFrozen = false
    this.main.release()
    this.guardian.release()
  }

  #inMain(handle: () => void): void {
    this.#unreadCount += 1
    const read = (): void => {
      this.#unreadCount -= 1
      handle()
    }
    this.#world.clock.after(0.02, () => this.main.deliver(read))
  }

  #inGuardian(handle: () => void): void {
    this.#world.clock.after(0.02, () => this.guardian.deliver(handle))
  }

  #onMessage(message: Message): void {
    if (message.kind === 'task') {
      for (const task of tasksOf(message)) this.#queue.push(this.#runOf(task))
      this.#run()
    } else if (message.kind === 'objectResponse') {
      this.#store(message.objectContent)
    } else if (message.kind === 'objectInstruction') {
      if (message.instructionType === 'clear') this.#objects.clear()
      for (const id of message.objectContent.objectIds) this.#objects.delete(id)
    }
  }

  #store({ objectIds, objectTypes, objectBytes }: ObjectContent): void {
    const lost: ObjectId[] = []
    const { store } = this.#setup
    for (const [index, id] of objectIds.entries()) {
      this.#lost.delete(id)
      const chunks = objectBytes[index] ?? []
      const content = objectTypes[index] === 'file' ? store.read(chunks) : Buffer.concat(chunks)
      const isLost = content === undefined || this.#losses?.chance(LOST_SHARE) === true
      if (isLost) lost.push(id)
      else this.#objects.set(id, content)
    }
    if (lost.length === 0) return
    for (const id of lost) {
      this.#objects.delete(id)
      this.#lost.add(id)
    }
    this.#voice.add(() => this.#setup.handler.onObjectsLost(lost))
    this.#flush()
  }

  /** Objects are looked up now: they may be deleted before its turn comes. */
  #runOf(task: Task): ProcessorRun {
    let isOutdated = false
    const find = (id: ObjectId): Uint8Array | undefined => {
      isOutdated ||= this.#lost.has(id)
      return this.#objects.get(id)
    }
    const inputs: RunInput[] = task.functionArgs.map(({ type, data: bytes }) => {
      return type === 'objectID' || type === 'sharedObjectID' ? find(objectIdOf(bytes)) : bytes
    })
    const fn = find(task.funcObjectId)
    const serializer = find(serializerIdOf(task.source))
    const { priority } =
      task.metadata.byteLength === 5 ? decodeTaskFlags(task.metadata) : DEFAULT_TASK_FLAGS
    const run = new ProcessorRun(task, this.#arrivals, priority, [serializer, fn, ...inputs])
    this.#arrivals += 1
    run.isOutdated = isOutdated
    run.follow(this.#last)
    this.#last = run.place
    return run
  }

  /** Starts runs that may start. */
  #run(): void {
    if (!this.#mayStart()) return
    this.#burstEnd = this.#world.clock.now + MAX_BURST_MS
    this.#startNext()
  }

  #mayStart(): boolean {
    const isBusy = [...this.#pending].some((run) => !run.isWaiting)
    if (this.#current !== undefined || isBusy || this.#isGone) return false
    if (this.#zombies.size > 0 && this.#pending.size === 0) {
      this.#flush()
      this.#die('own', 'retired', { signal: 'SIGKILL' })
      return false
    }
    return !this.#queue.isEmpty
  }

  #startNext(): void {
    const run = this.#queue.take()
    if (run === undefined) {
      this.#flush()
      return
    }
    if (run.isOutdated || !run.takeInput((bytes) => this.#linkInput(bytes))) {
      this.#reports.canceled(run)
      this.#startNext()
      return
    }
    const known = this.#durations.get(run.program.fn)
    if (!(known !== undefined && known < MAX_HOLD_MS)) this.#flush()
    this.#start(run)
  }

  #linkInput(bytes: Uint8Array): Uint8Array {
    const isWrong = this.#world.mutation.isDue('processorsConfuseLinks', 5)
    return isWrong ? Buffer.from('confused') : bytes
  }

  #start(run: ProcessorRun): void {
    const { program, task } = run
    run.startedAt = this.#world.clock.now
    this.#started.add(run)
    run.record = this.#world.journal.begin({
      name: program.name,
      taskId: task.taskId,
      attempt: task.attempt,
      worker: this.#setup.worker,
      processor: this.name,
    })
    this.#world.story.tell(this.name, () => `begins ${program.name} #${task.attempt}`)
    if (run.trouble !== undefined) {
      this.#finish(run, 'failed', run.trouble)
    } else if (program.blocks && program.children.length === 0) {
      this.#current = run
      this.main.hold()
      this.#world.clock.after(program.ms, () => this.#onBlockEnd(run))
    } else {
      this.#pending.add(run)
      this.main.after(program.ms, () => this.#onPause(run))
      this.#flush()
    }
  }

  /** A task that has blocked the thread ends; another may follow in the same turn. */
  #onBlockEnd(run: ProcessorRun): void {
    if (this.#isGone) return
    if (this.#isFrozen) {
      // It continues when the process does.
      const wasHeld = this.guardian
      wasHeld.deliver(() => this.#onBlockEnd(run))
      return
    }
    this.#current = undefined
    this.#complete(run)
    if (this.#isGone) return
    const { now } = this.#world.clock
    const isTurnOver = now > this.#burstEnd || run.program.ms > LONG_TASK_MS
    if (!isTurnOver && this.#mayStart()) this.#startNext()
    else this.#flush()
    this.main.release()
    if (this.#current === undefined) this.main.after(0, () => this.#run())
  }

  /** A task that has not blocked the thread continues. */
  #onPause(run: ProcessorRun): void {
    if (run.isOver) return
    if (run.program.children.length === 0) {
      this.#complete(run)
      this.#run()
      return
    }
    this.#submit(run)
  }

  #submit(run: ProcessorRun): void {
    const { program } = run
    const next = run.nextChildren()
    for (const child of next) {
      run.childCount += 1
      this.#nestedClient.submit(run.task.taskId, run.priority + 1, child, (outcome) => {
        this.#onChildEnd(run, child, outcome)
      })
    }
    if (next.length === 0 && run.childCount === 0) {
      this.#complete(run)
      this.#run()
    } else if (run.childCount > 0) this.#note(run)
    this.#world.story.tell(this.name, () => `${program.name} submits ${next.length}`)
  }

  get #nestedClient(): NestedClient {
    this.#client ??= new NestedClient(this.#world, this.main, this.#setup)
    return this.#client
  }

  #onChildEnd(run: ProcessorRun, child: Program, outcome: string): void {
    run.childCount -= 1
    if (run.isOver) return
    if (!outcome.startsWith('V:')) {
      this.#finish(run, 'failed', childErrorOf(run.program, child, outcome.slice(2)))
      this.#run()
      return
    }
    run.childValues.set(child.name, outcome.slice(2))
    if (run.childCount === 0) this.#submit(run)
    else this.#note(run)
  }

  /** Whether it waits is checked after all events of this turn. */
  #note(run: ProcessorRun): void {
    if (run.isNoted) return
    run.isNoted = true
    this.main.after(0, () => {
      run.isNoted = false
      if (!run.isOver) this.#setWaiting(run, run.childCount > 0)
      if (this.#mayStart()) this.#run()
      else this.#flush()
    })
  }

  #setWaiting(run: ProcessorRun, isWaiting: boolean): void {
    if (run.isWaiting === isWaiting) return
    run.isWaiting = isWaiting
    this.#reports.waits(run, isWaiting)
  }

  /** Its program ends. */
  #complete(run: ProcessorRun): void {
    const { program, task } = run
    if (program.end === 'exits') {
      const ids = run.isZombie ? [] : this.#activeIds(run)
      this.#flush()
      const [first, ...others] = ids
      const lastRun: LastRun = first === undefined ? 'nothing' : { taskIds: [first, ...others] }
      this.#die('own', lastRun, { exitCode: 3 })
    } else if (program.end === 'crashes') {
      this.#die('own', 'unknown', { signal: 'SIGSEGV' })
    } else if (program.end === 'throws' || task.attempt < program.failsFirst) {
      this.#finish(run, 'failed', errorOf(program))
    } else {
      const inputs = [
        ...run.inputTexts,
        ...program.children.map((one) => run.childValues.get(one.name) ?? '?'),
      ]
      this.#finish(run, 'success', valueOf(program, inputs))
    }
  }

  #activeIds(run: ProcessorRun): readonly Task['taskId'][] {
    const active = [...this.#pending].filter((other) => !other.isWaiting)
    const runs = run.program.blocks ? [run] : active.length === 0 ? [run] : active
    return runs.map(({ task }) => taskId(task.taskId))
  }

  #finish(run: ProcessorRun, status: 'success' | 'failed', text: string): void {
    if (run.isOver) return
    run.isOver = true
    this.#started.delete(run)
    this.#pending.delete(run)
    if (run.isZombie) {
      this.#zombies.delete(run)
      return
    }
    if (run.record !== undefined) this.#world.journal.end(run.record, 'answered')
    const { program } = run
    const durationMs = this.#world.clock.now - run.startedAt
    this.#durations.set(program.fn, durationMs)
    this.#world.story.tell(this.name, () => `ends ${program.name} ${status}`)
    const bytes = Buffer.from(text, 'latin1')
    const isSmall = bytes.byteLength <= this.#setup.inlineLimitBytes
    if (status === 'success' && isSmall) run.place.bytes = bytes
    this.#reports.result(run, status, text, durationMs)
    if (this.#current === undefined) this.main.after(0, () => this.#flush())
  }

  /** A result that later tasks need here, if it becomes an object. */
  #keep({ task }: ProcessorRun, bytes: Uint8Array): ObjectId | undefined {
    if (!task.keepsResult || bytes.byteLength <= this.#setup.inlineLimitBytes) return undefined
    const id = objectIdFor(task.source, `result ${this.#world.nextNumber()}`)
    this.#objects.set(id, bytes)
    return id
  }

  #stop(id: string, reason: StopReason): void {
    const queued = this.#queue.remove(id)
    if (queued !== undefined) {
      if (!this.#queue.claim(queued.number)) return
      this.#reports.canceled(queued)
      this.#flush()
      return
    }
    const run = [...this.#pending].find(({ task }) => task.taskId === id)
    if (run === undefined) return
    const isListening = run.program.abortMs >= 0
    const isForced = reason === 'givenUp' || (!isListening && this.#pending.size > 1)
    if (isForced) this.#giveUp(run)
    else if (isListening) {
      this.main.after(run.program.abortMs, () => {
        this.#finish(run, 'failed', `!aborted:${run.program.name}`)
        this.#run()
      })
    }
  }

  #giveUp(run: ProcessorRun): void {
    run.isZombie = true
    this.#zombies.add(run)
    this.#started.delete(run)
    this.#pending.delete(run)
    if (run.record !== undefined) this.#world.journal.end(run.record, 'givenUp')
    this.#reports.canceled(run)
    this.main.after(0, () => {
      this.#run()
      if (!this.#isGone) this.#flush()
    })
  }

  #statusOf(dispatchNumber: number, count: number): RunStatus {
    const isAsked = ({ number }: ProcessorRun): boolean =>
      number >= dispatchNumber && number < dispatchNumber + count
    const asked = [...this.#started, ...this.#zombies].filter(isAsked)
    const found = asked.sort((a, b) => a.number - b.number).at(-1)
    const isCounted = found !== undefined && this.#started.has(found)
    const others = this.#started.size - (isCounted ? 1 : 0)
    return {
      dispatchNumber,
      taskNumber: found?.number ?? dispatchNumber,
      isStarted: found !== undefined,
      isListening: found !== undefined && found.program.abortMs >= 0,
      isAlone: found !== undefined && others === 0,
      hasGivenUp: this.#zombies.size > 0,
      runningMs: found === undefined ? 0 : this.#world.clock.now - found.startedAt,
    }
  }

  #flush(): void {
    this.#voice.flush()
  }

  #die(
    cause: 'own' | 'told' | 'fault',
    lastRun: LastRun,
    how: { readonly exitCode?: number; readonly signal?: string },
  ): void {
    if (this.#isGone) return
    this.#isGone = true
    const begun = [...this.#started]
    const death: DeathRecord = {
      processor: this.name,
      at: this.#world.clock.now,
      cause,
      lastRun,
      had: this.#given,
      begun: new Set(begun.map(({ task }) => task.taskId)),
    }
    this.#world.journal.deaths.push(death)
    for (const { record } of begun) {
      if (record !== undefined) this.#world.journal.end(record, 'lost')
    }
    this.#world.story.tell(this.name, () => `dies (${cause}) ${JSON.stringify(how)}`)
    this.main.kill()
    this.guardian.kill()
    this.#voice.tell(() => {
      const { exitCode, signal } = how
      // It may have been sent to a process that is gone.
      const isUnread = this.#isTaskLast && this.#unreadCount > 0
      if (lastRun === 'unknown' && isUnread) death.lastRun = 'unread'
      this.#setup.handler.onExit({ exitCode, signal, stderr: '' }, death.lastRun)
      this.#voice.end()
    })
  }
}
