// Moves what an object storage server has to others, before it ends.

import type { ObjectId } from '../base/ids.js'
import type { StorageLink } from '../runtime/storage/link.js'

/** How many objects are moved at a time. */
const MAX_MOVES = 8

/** A server that has failed to take this many contents in a row is not tried again. */
const MAX_FAILURES = 3

/** By then, what was on its way when peers learned that the server ends has arrived. */
const QUIET_MS = 1_000

/** A server, as far as moves are concerned. */
export interface MovableServer {
  readonly name: string
  readonly link: StorageLink
  readonly isUp: boolean
  /** The objects whose content is there, by the id of the content. */
  readonly content: Map<ObjectId, ObjectId>
}

/** What moves need. */
export interface MoveParts {
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
    const objectId = server.content.get(id)
    if (parts.isClosed() || objectId === undefined) return
    if (!isCopied || !target.isUp) {
      failures.set(target.name, (failures.get(target.name) ?? 0) + 1)
      tried.set(id, (tried.get(id) ?? new Set()).add(target.name))
      return
    }
    failures.set(target.name, 0)
    target.content.set(id, objectId)
    target.link.claim(id)
    parts.onMoved(objectId, id, target.name)
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
  const left = (): ObjectId[] => [...server.content.keys()].filter((id) => !done.has(id))
  let ids = left()
  do {
    await Promise.all(Array.from({ length: MAX_MOVES }, () => moveAll(ids)))
    if (isGoing()) await new Promise((resolve) => setTimeout(resolve, QUIET_MS))
    ids = left()
  } while (ids.length > 0 && isGoing())
}
