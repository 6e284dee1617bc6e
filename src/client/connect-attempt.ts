// What `Client.connect` waits for, and what it says when that does not come.

import { ConnectError } from '../base/errors.js'
import type { ClientConnection, ConnectionWatcher } from './client-connection.js'

/** Resolves when the scheduler has answered; rejects with `ConnectError` within `timeoutMs`. */
export function firstAnswer(connection: ClientConnection, timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let failures = 0
    let lastReason = ''
    const settle = (decide: () => void): void => {
      clearTimeout(timer)
      stopWatching()
      decide()
    }
    const fail = (): void => {
      settle(() =>
        reject(new ConnectError(describe(connection.address, timeoutMs, failures, lastReason))),
      )
    }
    const watcher: ConnectionWatcher = {
      onOpen: () => settle(resolve),
      onFailure(reason) {
        failures += 1
        lastReason = reason
      },
      onEnd: fail,
    }
    const timer = setTimeout(fail, timeoutMs)
    const stopWatching = connection.watch(watcher)
  })
}

function describe(
  address: string,
  timeoutMs: number,
  failures: number,
  lastReason: string,
): string {
  const what = `no scheduler at ${address} within ${timeoutMs} ms`
  if (failures === 0) return `${what}: nothing answered; is it a scheduler?`
  const times = failures === 1 ? 'one attempt' : `${failures} attempts`
  return `${what}: ${lastReason} (${times})`
}
