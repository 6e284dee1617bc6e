// Listens on an address and hands out the streams of those who connect. Knows the operating
// system's ways (stale socket files, ports chosen by the system), not what the streams carry.

import type { Stats } from 'node:fs'
import { lstat, stat, unlink } from 'node:fs/promises'
import {
  connect,
  createServer,
  type AddressInfo,
  type ListenOptions,
  type Server,
  type Socket,
} from 'node:net'
import { dirname, resolve as resolvePath } from 'node:path'
import type { Logger } from '../base/logger.js'
import { Recurrence } from '../base/recurrence.js'
import { formatAddress, parseAddress, type Address } from './address.js'
import { bindError, codeOf } from './os-error.js'
import { STREAM_OPTIONS } from './stream.js'

/** Connections that wait to be accepted, at most: a whole cluster may come at once. */
const BACKLOG = 4096

/** That connections cannot be accepted is said so often at most. */
const TELL_INTERVAL_MS = 60_000

/** A bound address. */
export class Listener {
  /** What is listened on, with the real port. */
  readonly address: string
  readonly #server: Server

  private constructor(address: string, server: Server) {
    this.address = address
    this.#server = server
  }

  /**
   * Listens on `address`. Throws `ConfigError` if that is none; rejects with an error that has the
   * system's `code` (`EADDRINUSE`, …) if it cannot be bound. A socket file on which nobody listens
   * any more is replaced.
   */
  static async bind(
    text: string,
    onStream: (stream: Socket) => void,
    logger: Logger,
  ): Promise<Listener> {
    const address = parseAddress(text)
    const server = createServer(STREAM_OPTIONS, onStream)
    try {
      await listenAnew(server, address)
    } catch (error) {
      throw bindError(
        formatAddress(address),
        error instanceof Error ? error : new Error(String(error)),
        address.kind === 'ipc' ? await troubleWith(address.path) : undefined,
      )
    }
    // For example no file descriptors left for another connection: those that we have go on.
    const recurrence = new Recurrence(TELL_INTERVAL_MS)
    server.on('error', (error) => {
      const count = recurrence.note(performance.now())
      if (count > 0) logger.error('cannot accept a connection', { reason: error.message, count })
    })
    return new Listener(formatAddress(withRealPort(address, server)), server)
  }

  /** Stops to listen; a socket file is removed. Resolves when the streams are closed, too. */
  close(): Promise<void> {
    return new Promise((resolve) => this.#server.close(() => resolve()))
  }
}

async function listenAnew(server: Server, address: Address): Promise<void> {
  try {
    await listen(server, address)
  } catch (error) {
    if (codeOf(error) !== 'EADDRINUSE' || address.kind === 'tcp') throw error
    if (!(await isStale(address.path))) throw error
    await unlink(address.path)
    await listen(server, address)
  }
}

function listen(server: Server, address: Address): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(listenOptions(address), () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function listenOptions(address: Address): ListenOptions {
  if (address.kind === 'ipc') return { path: address.path, backlog: BACKLOG }
  const { host, port } = address
  return host === '*' ? { port, backlog: BACKLOG } : { host, port, backlog: BACKLOG }
}

/** Whether `path` is a socket on which nobody listens. */
async function isStale(path: string): Promise<boolean> {
  const file = await lstat(path)
  if (!file.isSocket()) return false
  return new Promise((resolve) => {
    const probe = connect(path)
    probe.once('error', (error) => resolve(codeOf(error) === 'ECONNREFUSED'))
    probe.once('connect', () => {
      probe.destroy()
      resolve(false)
    })
  })
}

/**
 * Why there can be no socket file at `path`, if the file system shows it: the system says
 * "permission denied" for a folder that is not there, and "in use" for whatever is.
 */
async function troubleWith(path: string): Promise<string | undefined> {
  const there = await look(path, lstat)
  if (there?.isDirectory() === true) return 'it is a directory; name a file in it'
  if (there?.isSocket() === true) return undefined
  if (there !== undefined) return 'there is a file of that name, which is not a socket'
  let missing: string | undefined
  let folder = dirname(resolvePath(path))
  for (; (await look(folder, stat)) === undefined; folder = dirname(folder)) {
    if (folder === dirname(folder)) return undefined
    missing = folder
  }
  if (missing !== undefined) return `the directory ${missing} does not exist`
  const isDirectory = (await look(folder, stat))?.isDirectory() === true
  return isDirectory ? undefined : `${folder} is not a directory`
}

/** Undefined: it is not there, or cannot be looked at. */
async function look(
  path: string,
  by: (path: string) => Promise<Stats>,
): Promise<Stats | undefined> {
  try {
    return await by(path)
  } catch {
    return undefined
  }
}

function withRealPort(address: Address, server: Server): Address {
  if (address.kind === 'ipc') return address
  const bound = server.address() as AddressInfo
  return { ...address, port: bound.port }
}
