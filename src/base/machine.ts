// What all code that makes decisions is built of. A machine receives facts and the time, and
// answers with actions; it has no side effects, so that a test, the simulator and a shell can drive
// the same code. Its parts share one turn, which has the time, the way out and the alarms.

import { type HeapItem, IndexedHeap } from './collection/indexed-heap.js'
import type { LogFields, LogLevel } from './logger.js'

/** A point in time in milliseconds, from a monotonic clock. Not a date. */
export type InstantMs = number

/** A state machine: in this project, every decision is made by one. */
export interface Machine<Event, Action> {
  /**
   * Applies one event. Never blocks, never reads a clock, never throws because of a peer's message.
   */
  handle(event: Event, now: InstantMs, act: (action: Action) => void): void
  /** When a `tick` must be handled next, or undefined while there is nothing to wait for. */
  readonly deadline: InstantMs | undefined
  /** Throws if the tables disagree. For tests and simulation. */
  checkInvariants(): void
}

/** The action that every machine has: write a log line. */
export interface LogAction {
  readonly type: 'log'
  readonly level: LogLevel
  readonly text: string
  readonly fields: LogFields
}

/**
 * What the parts of one machine share while it handles an event: the time, the way out for actions,
 * and the alarms. A part that waits for a time has an alarm instead of a deadline of its own.
 */
export class Turn<Action> {
  #now: InstantMs = 0
  #act: (action: Action | LogAction) => void = () => {}
  #alarmCount = 0
  /** The only alarm that may still ring; undefined if all may. */
  #last: Alarm | undefined
  readonly #alarms = new IndexedHeap<Alarm>((a, b) =>
    a.at === b.at ? a.number < b.number : a.at < b.at,
  )

  /** The time of the event that is being handled. */
  get now(): InstantMs {
    return this.#now
  }

  /** When `ring` must be called next; undefined while no alarm is set. */
  get nextAlarmAt(): InstantMs | undefined {
    return this.#next?.at
  }

  /** From here on, this is the time, and actions go to `act`. */
  begin(now: InstantMs, act: (action: Action | LogAction) => void): void {
    this.#now = now
    this.#act = act
  }

  /** Emits one action. */
  act(action: Action): void {
    this.#act(action)
  }

  /** Writes a log line. */
  log(level: LogLevel, text: string, fields: LogFields = {}): void {
    this.#act({ type: 'log', level, text, fields })
  }

  /**
   * Creates an alarm, which is not set. When it is due, `onDue` is called with how late it is, in
   * milliseconds; the alarm is not set then, and may be set again.
   */
  alarm(onDue: (latenessMs: number) => void): Alarm {
    this.#alarmCount += 1
    return new Alarm(this.#alarms, this.#alarmCount, onDue)
  }

  /** From here on, only this alarm rings: the machine has nothing else left to do. */
  ringOnly(alarm: Alarm): void {
    this.#last = alarm
  }

  /**
   * Calls what is due, the earliest first. An alarm that is set for this instant meanwhile is due
   * at the next call, so that work in slices lets other events in between.
   */
  ring(): void {
    const due: Alarm[] = []
    for (;;) {
      const next = this.#next
      if (next === undefined || next.at > this.#now) break
      due.push(next)
      next.hold()
    }
    for (const alarm of due) alarm.ring(this.#now)
  }

  /** Throws if the alarms are out of order. */
  checkInvariants(): void {
    this.#alarms.checkInvariants()
  }

  get #next(): Alarm | undefined {
    if (this.#last === undefined) return this.#alarms.first
    return this.#last.heapIndex >= 0 ? this.#last : undefined
  }
}

/** A turn for parts that emit no actions: whatever the actions are, they have time and alarms. */
export type Timing = Pick<Turn<never>, 'now' | 'nextAlarmAt' | 'alarm' | 'ringOnly'>

/** A time at which a part of a machine is called. Created by `Turn.alarm`. */
export class Alarm implements HeapItem {
  heapIndex = -1
  /** Alarms for the same instant are called in the order of their creation. */
  readonly number: number
  readonly #alarms: IndexedHeap<Alarm>
  readonly #onDue: (latenessMs: number) => void
  #at: InstantMs = Infinity
  /** Whether it is due in the present round and has not been called. */
  #isHeld = false

  constructor(alarms: IndexedHeap<Alarm>, number: number, onDue: (latenessMs: number) => void) {
    this.#alarms = alarms
    this.number = number
    this.#onDue = onDue
  }

  /** When it is due; Infinity if it is not set. */
  get at(): InstantMs {
    return this.#at
  }

  /** Whether it waits for a time. */
  get isSet(): boolean {
    return this.#at !== Infinity
  }

  /** It is due at this instant and no other; undefined clears it. */
  set(at: InstantMs | undefined): void {
    const next = at ?? Infinity
    this.#isHeld = false
    if (next === this.#at && (this.heapIndex >= 0 || next === Infinity)) return
    this.#at = next
    if (next === Infinity) {
      if (this.heapIndex >= 0) this.#alarms.remove(this)
    } else if (this.heapIndex >= 0) {
      this.#alarms.update(this)
    } else {
      this.#alarms.add(this)
    }
  }

  /** Like `set`, but only if that is sooner. */
  setBy(at: InstantMs): void {
    if (at < this.#at) this.set(at)
  }

  /** It is not due any more. */
  clear(): void {
    this.set(undefined)
  }

  /** For `Turn.ring`: takes it out; it is called in this round unless it is set again before. */
  hold(): void {
    this.#alarms.remove(this)
    this.#isHeld = true
  }

  /** For `Turn.ring`. */
  ring(now: InstantMs): void {
    if (!this.#isHeld) return
    const latenessMs = now - this.#at
    this.#isHeld = false
    this.#at = Infinity
    this.#onDue(latenessMs)
  }
}
