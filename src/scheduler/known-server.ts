// What the scheduler knows about one object storage server.

import type { Identity, SchedulerId } from '../base/ids.js'
import type { StorageLink } from '../runtime/storage/link.js'
import type { HeldContent } from './content-moves.js'

/** One server. */
export interface KnownServer {
  readonly name: string
  readonly link: StorageLink
  /** It was named when the scheduler was started: it may come back at any time. */
  readonly isPermanent: boolean
  /** Undefined: it has not answered yet, or has lost everything. */
  instance: SchedulerId | undefined
  isUp: boolean
  /** It ends, and what it has is copied to others. */
  isLeaving: boolean
  /** Why the connection is down. */
  reason: string
  /** The connection over which it has made itself known. */
  registrant: Identity | undefined
  lossTimer: NodeJS.Timeout | undefined
  /** Calls that wait until it has come back, or is lost. */
  waiting: (() => void)[]
  readonly content: HeldContent
  /** How much more it can store, in bytes, as it has said last, and as peers know; 0: not known. */
  freeBytes: number
  toldBytes: number
}

/** Whether content can be stored there. */
export function isUsable({ isUp, isLeaving }: KnownServer): boolean {
  return isUp && !isLeaving
}

/** Whether its content is, or may be, still there. */
export function mayReturn({ isUp, instance, lossTimer }: KnownServer): boolean {
  return isUp || (instance !== undefined && lossTimer !== undefined)
}

/** Nothing waits for the server any longer. */
export function wake({ waiting }: KnownServer): void {
  for (const resolve of waiting.splice(0)) resolve()
}
