// Gets the objects that tasks need from the scheduler to the processor: docs/protocol.md#objects.

import { identity, type ObjectId } from '../../base/ids.js'
import type { ObjectInstruction, ObjectRequest, ObjectResponse } from '../../wire/message.js'
import { ObjectTable } from './object-table.js'
import type { Output } from './output.js'
import type { WorkerTask } from './worker-task.js'

/** What a fetcher tells about tasks. */
export interface FetcherHandler {
  /** The processor has all that the task needs. */
  onComplete(task: WorkerTask): void
  /** The scheduler does not have these objects. */
  onMissing(task: WorkerTask, ids: readonly ObjectId[]): void
}

/** Requests objects, each once per processor, and passes them on. */
export class Fetcher {
  readonly #output: Output
  readonly #handler: FetcherHandler
  readonly #table = new ObjectTable()
  #request: ObjectId[] = []

  constructor(output: Output, handler: FetcherHandler) {
    this.#output = output
    this.#handler = handler
  }

  /** Whether the processor still has what the task was found to have. */
  isUpToDate(task: WorkerTask): boolean {
    return task.epoch === this.#table.epoch
  }

  /** Looks up what the task needs and asks for what is missing. True if nothing is. */
  fetch(task: WorkerTask): boolean {
    this.#table.lookUp(task, this.#request)
    if (this.#request.length > 0) {
      this.#output.send(requestOf(this.#request))
      this.#request = []
    }
    return task.missingCount === 0
  }

  /** Objects have come, or the scheduler says which ones it does not have. */
  onObjectResponse(response: ObjectResponse): void {
    const { objectIds, objectBytes } = response.objectContent
    const awaited = objectIds.filter((id) => this.#table.isAwaited(id))
    if (awaited.length === 0) return
    if (response.responseType === 'objectNotExist') this.#miss(awaited)
    else if (objectIds.length === objectBytes.length) this.#arrive(response, awaited)
    // A 1.9.9 scheduler lists all ids but only the objects that it has. Which are missing shows
    // when each is asked for alone.
    else if (objectIds.length === 1) this.#miss(awaited)
    else for (const id of awaited) this.#output.send(requestOf([id]))
  }

  /** Objects were deleted: the processor forgets them, too. */
  onObjectInstruction(instruction: ObjectInstruction): void {
    if (instruction.instructionType !== 'delete') return
    const count = this.#table.delete(instruction.objectContent.objectIds)
    if (count > 0) this.#output.tellProcessor(instruction)
  }

  /** The processor and all that it had are gone. */
  onProcessorExited(): void {
    this.#table.clear()
  }

  /** The scheduler can no longer say what was deleted: the processor forgets everything. */
  onDisconnected(): void {
    this.#table.clear()
    this.#output.tellProcessor(CLEAR)
  }

  /** Throws if the tasks that are fetching do not wait for what they count. */
  checkInvariants(fetching: ReadonlySet<WorkerTask>): void {
    this.#table.checkInvariants(fetching)
  }

  /** The bytes go to the processor before any task that needs them. */
  #arrive(response: ObjectResponse, ids: readonly ObjectId[]): void {
    this.#output.tellProcessor(response)
    for (const id of ids) this.#table.arrive(id, this.#onComplete)
  }

  readonly #onComplete = (task: WorkerTask): void => this.#handler.onComplete(task)

  #miss(ids: readonly ObjectId[]): void {
    const missing = new Map<WorkerTask, ObjectId[]>()
    for (const id of ids) {
      for (const task of this.#table.miss(id)) {
        const known = missing.get(task)
        if (known === undefined) missing.set(task, [id])
        else known.push(id)
      }
    }
    for (const [task, taskIds] of missing) this.#handler.onMissing(task, taskIds)
  }
}

const CLEAR: ObjectInstruction = {
  kind: 'objectInstruction',
  instructionType: 'clear',
  objectUser: identity(''),
  objectContent: { objectIds: [], objectTypes: [], objectNames: [], objectBytes: [] },
}

function requestOf(objectIds: readonly ObjectId[]): ObjectRequest {
  return { kind: 'objectRequest', requestType: 'get', objectIds }
}
