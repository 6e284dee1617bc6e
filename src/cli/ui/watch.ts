// Fills a board from a cluster for as long as it is watched, whether its scheduler is there or not.

import { setTimeout } from 'node:timers/promises'
import { ConfigError } from '../../base/errors.js'
import type { Logger } from '../../base/logger.js'
import { locate, type LocateOptions } from '../../client/connect/locate.js'
import { ClusterLink, type Link, type MonitorSetup } from '../../client/monitor/links.js'
import { requestOf } from '../../client/monitor/look.js'
import type { Board } from './board.js'
import type { Ask } from './inquiries.js'
import { RequestError } from './query.js'

/** How long to wait before a cluster that was not found is looked for again, in milliseconds. */
const RETRY_MS = 2_000
/** How long the scheduler may take to answer a question, in milliseconds. */
const ASK_LIMIT_MS = 6_000

/** A cluster that is watched. */
interface Watch {
  readonly ask: Ask
  /** Rejects for an invalid address, and for a bug; resolves after `stop`. */
  readonly ended: Promise<void>
  readonly stop: () => Promise<void>
}

/** Begins to watch the cluster at an address, of its scheduler or for monitors. */
export function watchInto(
  board: Board,
  address: string,
  options: LocateOptions & { readonly logger: Logger },
): Watch {
  const stopping = new AbortController()
  const { signal } = stopping
  let link: Link | undefined
  let place: MonitorSetup | undefined
  board.address = address
  let fail: (error: unknown) => void = () => {}
  const failed = new Promise<never>((_, reject) => (fail = reject))
  const stopped = new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
  const open = async (): Promise<void> => {
    place = await found(board, address, { ...options, signal })
    if (place === undefined || signal.aborted) return
    const wishes = { events: true, failures: true, graphs: true }
    link = new ClusterLink({ ...place, logger: options.logger }, wishes, {
      onReport: (events, picture, from) => {
        board.onEvents(events, Date.now())
        board.onGraphs(picture.graphs, picture.graphCount)
        board.problem = undefined
        from.read()
      },
      onCrowded: ({ message }) => {
        board.problem = message
        options.logger.warn(`UI: ${message}`)
      },
      onFault: fail,
    })
  }
  return {
    ask: (question) => {
      const scheduler = place?.address
      if (place === undefined || scheduler === undefined) {
        return Promise.reject(new RequestError(503, 'there is no scheduler that can be asked'))
      }
      return requestOf({ ...place, address: scheduler }, question, ASK_LIMIT_MS)
    },
    ended: Promise.race([open().then(() => stopped), failed]),
    stop: async () => {
      stopping.abort()
      await link?.close()
    },
  }
}

/** Looks for the cluster until it is there. Undefined if it is stopped before. */
async function found(
  board: Board,
  address: string,
  { signal, logger, ...options }: LocateOptions & { logger: Logger; signal: AbortSignal },
): Promise<MonitorSetup | undefined> {
  let told = ''
  while (!signal.aborted) {
    try {
      const place = await locate(address, options)
      board.problem = undefined
      return place
    } catch (error) {
      if (error instanceof ConfigError || !(error instanceof Error)) throw error
      board.problem = error.message
      if (told !== error.message) logger.warn(`UI: ${error.message}`)
      told = error.message
      await setTimeout(RETRY_MS, undefined, { signal }).catch(() => {})
    }
  }
  return undefined
}
