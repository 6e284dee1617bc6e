// What `Client.connect` waits for, and its error if that does not come.

import { ConnectError } from '../../base/errors.js'
import { NO_SCHEDULER_HERE } from '../../base/features.js'
import { parseConnectAddress } from '../../transport/address.js'
import type { ConnectionEnd } from '../../transport/end.js'
import type { ClientConnection } from '../connection.js'
import { describe, isFinal, type NoScheduler } from './no-scheduler.js'

/** What is watched of a connection. */
type Watched = Pick<ClientConnection, 'address' | 'end' | 'listen'>

/**
 * Resolves when the scheduler has answered. Rejects with `ConnectError` within `timeoutMs`, and
 * immediately if another server uses that address: waiting makes sense for a scheduler that is
 * about to be started, not for a web server.
 */
export async function firstAnswer(connection: Watched, timeoutMs: number): Promise<void> {
  const { address } = connection
  let failures = 0
  let lastFailure: ConnectionEnd | undefined
  let timer: NodeJS.Timeout | undefined
  let stopListening = (): void => {}
  const failure = (within: string, suffix = ''): ConnectError => {
    const { end } = connection
    // An attempt that has just begun says less than the one before.
    const finding = end.kind === 'silent' && end.stage === 'connecting' ? lastFailure : undefined
    return noScheduler({ finding: finding ?? end, address, timeoutMs }, within, suffix)
  }
  const giveUp = (): ConnectError => {
    const attempts = failures === 1 ? 'one attempt' : `${failures} attempts`
    return failure(` within ${timeoutMs} ms`, failures === 0 ? '' : ` (${attempts})`)
  }
  try {
    await new Promise<void>((resolve, reject) => {
      timer = setTimeout(() => reject(giveUp()), timeoutMs)
      stopListening = connection.listen((event) => {
        if (event.type === 'opened') return resolve()
        if (event.type === 'failed') {
          failures += 1
          lastFailure = connection.end
          return isFinal(connection.end) ? reject(failure('')) : undefined
        }
        const { reason } = event
        if (reason !== NO_SCHEDULER_HERE) return reject(giveUp())
        const finding = { kind: 'notScheduler', reason } as const
        reject(noScheduler({ finding, address, timeoutMs }, ''))
      })
    })
  } finally {
    stopListening()
    clearTimeout(timer)
  }
}

/** What was found instead of a scheduler. */
interface Absence {
  readonly finding: NoScheduler
  readonly address: string
  readonly timeoutMs: number
}

/** The error that says so. `within`, `suffix`: for how long, and how often it was tried. */
export function noScheduler(
  { finding, address, timeoutMs }: Absence,
  within: string = ` within ${timeoutMs} ms`,
  suffix = '',
): ConnectError {
  const { what, advice } = describe(finding, parseConnectAddress(address), timeoutMs)
  const why = advice === '' ? what : `${what}; ${advice}`
  const message = `no scheduler at ${address}${within}: ${why}${suffix}`
  return new ConnectError(message, { reason: 'no-scheduler' })
}
