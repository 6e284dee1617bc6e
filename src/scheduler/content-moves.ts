// Moves what an object storage server has to others, before it ends.

import type { ObjectId } from '../base/ids.js'
import type { StorageLink } from '../runtime/storage/link.js'

/** How many objects are moved at a time. */
const MAX_MOVES = 8

/** A server that has failed to take this many contents in a row is not tried again. */
const MAX_FAILURES = 3

/** By then, what was on its way when peers learned that the server ends has arrived. */
const QUIET_MS = 1_000

/** An object whose content is on a server. */
interface HeldObject {
  readonly objectId: ObjectId
  readonly byteLength: number
}

/** The content of objects on one server, by its id. */
export class HeldContent {
  readonly #objects = new Map<ObjectId, HeldObject>()
  #bytes = 0

  get count(): number {
    return this.#objects.size
  }

  /** The size of all content. */
  get bytes(): number {
    return this.#bytes
  }

  has(id: ObjectId): boolean {
    return this.#objects.has(id)
  }

  get(id: ObjectId): HeldObject | undefined {
    return this.#objects.get(id)
  }

  /** The ids of all content. */
  ids(): Iterable<ObjectId> {
    return this.#objects.keys()
  }

  set(id: ObjectId, object: HeldObject): void {
    this.delete(id)
    this.#objects.set(id, object)
    this.#bytes += object.byteLength
  }

  delete(id: ObjectId): void {
    this.#bytes -= this.#objects.get(id)?.byteLength ?? 0
    this.#objects.delete(id)
  }

  clear(): void {
    this.#objects.clear()
    this.#bytes = 0
  }
}

/** A server, as far as moves are concerned. */
interface MovableServer {
  readonly name: string
  readonly link: StorageLink
  readonly isUp: boolean
  readonly content: HeldContent
}

/** What moves need. */
interface MoveParts {
  /** The servers that can take content now. */
  targets(): readonly MovableServer[]
  /** Resolves when there may be a server, or (false) there will not be any. */
  awaitServer(): Promise<boolean>
  /** Nothing is needed any more. */
  isClosed(): boolean
  /** Content of an object is at this address now, and belongs to the scheduler there. */
  onMoved(objectId: ObjectId, contentId: ObjectId, address: string): void
}

/** Moves everything that a server has. Resolves when nothing is left that could be moved. */
export async function moveContent(server: MovableServer, parts: MoveParts): Promise<void> {
  const tried = new Map<ObjectId, Set<string>>()
  const failures = new Map<string, number>()
  const done = new Set<ObjectId>()

  const targetFor = (id: ObjectId): MovableServer | undefined => {
    const usable = parts.targets().filter(({ name }) => {
      return (failures.get(name) ?? 0) < MAX_FAILURES && tried.get(id)?.has(name) !== true
    })
    return usable[Math.floor(Math.random() * usable.length)]
  }

  const moveTo = async (target: MovableServer, id: ObjectId): Promise<void> => {
    const isCopied = await target.link.copy({ address: server.name, id, byteLength: 0 })
    const object = server.content.get(id)
    if (parts.isClosed() || object === undefined) return
    if (!isCopied || !target.isUp) {
      failures.set(target.name, (failures.get(target.name) ?? 0) + 1)
      tried.set(id, (tried.get(id) ?? new Set()).add(target.name))
      return
    }
    failures.set(target.name, 0)
    target.content.set(id, object)
    target.link.claim(id)
    parts.onMoved(object.objectId, id, target.name)
    server.content.delete(id)
  }

  const moveAll = async (ids: ObjectId[]): Promise<void> => {
    for (let id = ids.pop(); id !== undefined; id = ids.pop()) {
      while (server.isUp && server.content.has(id) && !parts.isClosed()) {
        const target = targetFor(id)
        if (target !== undefined) await moveTo(target, id)
        else if (parts.targets().length > 0 || !(await parts.awaitServer())) break
      }
      done.add(id)
    }
  }

  const isGoing = (): boolean => server.isUp && !parts.isClosed()
  const left = (): ObjectId[] => [...server.content.ids()].filter((id) => !done.has(id))
  let ids = left()
  do {
    await Promise.all(Array.from({ length: MAX_MOVES }, () => moveAll(ids)))
    if (isGoing()) await new Promise((resolve) => setTimeout(resolve, QUIET_MS))
    ids = left()
  } while (ids.length > 0 && isGoing())
}
