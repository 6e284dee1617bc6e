// The addresses that clusters of this process serve: whoever connects to one of them is in the same
// program.

import { parseAddress, type Address } from '../transport/address.js'

const served = new Map<string, number>()

/** A cluster of this process serves an address, until the returned function is called. */
export function serveLocally(address: string): () => void {
  const key = keyOf(address)
  served.set(key, (served.get(key) ?? 0) + 1)
  return () => {
    const count = served.get(key) ?? 0
    if (count > 1) served.set(key, count - 1)
    else served.delete(key)
  }
}

/** Whether a cluster of this process serves an address. False for what is no address. */
export function isServedLocally(address: string): boolean {
  if (served.size === 0) return false
  try {
    return served.has(keyOf(address))
  } catch {
    return false
  }
}

/** This machine has several names. */
const THIS_MACHINE = new Set(['localhost', '127.0.0.1', '::1'])

function keyOf(text: string): string {
  const address: Address = parseAddress(text)
  if (address.kind === 'ipc') return `ipc ${address.path}`
  return `tcp ${THIS_MACHINE.has(address.host) ? '' : address.host} ${address.port}`
}
