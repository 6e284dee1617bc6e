// The tasks of a map, alone or in runs: they notify the map of their outcomes.

import type { TaskId } from '../../base/ids.js'
import type { TaskEndReason } from '../../core/client/events.js'
import type { TaskScope } from '../../runtime/task-scope.js'
import { placeInBlock } from '../../wire/run.js'
import type { AnyOwner, RunOwner, RunReport, TaskOwner, TaskReport } from '../future/home.js'
import type { MapRun } from './run.js'

/** Whether tasks belong to a map. */
export function isPartOf(owner: AnyOwner, run: MapRun): boolean {
  return (owner instanceof MapTask || owner instanceof MapPart) && owner.isOf(run)
}

/** Consecutive tasks of a map, submitted as a run. */
export class MapPart implements RunOwner {
  readonly #run: MapRun
  readonly #firstIndex: number
  readonly #firstPlace: number

  constructor(run: MapRun, firstIndex: number, firstId: TaskId) {
    this.#run = run
    this.#firstIndex = firstIndex
    this.#firstPlace = placeInBlock(firstId)
  }

  get scope(): TaskScope | undefined {
    return this.#run.scope
  }

  isOf(run: MapRun): boolean {
    return this.#run === run
  }

  ownerOf(id: TaskId): MapTask {
    return new MapTask(this.#run, this.#firstIndex + placeInBlock(id) - this.#firstPlace, id)
  }

  beginValues(_first: number, count: number, { metadata }: RunReport): void {
    this.#run.onReturned(metadata, count)
  }

  succeedFrom(place: number, values: readonly unknown[]): void {
    this.#run.onValues(this.#firstIndex + place - this.#firstPlace, values)
  }

  endValues(): void {
    this.#run.onDone()
  }
}

/** One task of a map: notifies the map of its outcome. */
export class MapTask implements TaskOwner {
  readonly taskId: TaskId
  readonly index: number
  readonly #run: MapRun

  constructor(run: MapRun, index: number, taskId: TaskId) {
    this.#run = run
    this.index = index
    this.taskId = taskId
  }

  get scope(): TaskScope | undefined {
    return this.#run.scope
  }

  /** Whether it belongs to `run`. */
  isOf(run: MapRun): boolean {
    return this.#run === run
  }

  succeed(value: unknown, { metadata }: TaskReport): void {
    this.#run.onReturned(metadata, 1)
    this.#run.onValues(this.index, [value])
    this.#run.onDone()
  }

  fail(error: unknown, { isLocal = false }: TaskReport): void {
    this.#run.onTaskFailed(this.index, error, isLocal)
  }

  end(reason: TaskEndReason, detail: string, failedTaskId: TaskId | undefined): void {
    this.#run.onTaskEnded(this, { reason, detail, failedTaskId })
  }

  offer(): void {
    this.#run.onTaskOffered(this)
  }

  /** A map does not report the progress of its tasks. */
  progress(): void {}
}
