// Programs of users, in separate processes. Arguments: the scenario, and the scheduler's address.

import { readFile } from 'node:fs/promises'
import { Client } from 'scaler-ts'

const [what = '', address = ''] = process.argv.slice(2)
const double = (x: number): number => 2 * x
const boom = (): never => {
  throw new Error('boom')
}

const PROGRAMS: Readonly<Record<string, () => Promise<void>>> = {
  /** Uses a client and forgets about it. */
  async forget() {
    const client = new Client(address)
    console.log(await client.submit(double, 21))
    console.log((await client.map(double, [1, 2, 3])).join(' '))
  },
  /** Does nothing with a client that has no scheduler. */
  async unreachable() {
    const client = new Client('tcp://127.0.0.1:1')
    console.log(client.identity.includes('Client'))
    await Promise.resolve()
  },
  /** Has a future, and nothing else that keeps the process alive. */
  async patient() {
    const client = new Client(address)
    void client.submit(double, 21).then((value) => console.log(value))
    await Promise.resolve()
  },
  /** Lets futures fail without awaiting them. */
  async careless() {
    const client = new Client(address)
    const futures = [client.submit(boom), client.submit(boom)]
    const results = client.map(boom, [1, 2])
    await client.submit(double, 1)
    while (futures.some((future) => future.state !== 'failed')) await client.submit(double, 1)
    console.log(
      futures.map((future) => future.state).join(' '),
      Object.prototype.toString.call(results),
    )
    await client.disconnect()
  },
  /** Makes an ordinary promise of a future, and does not handle it. */
  async chained() {
    const client = new Client(address)
    void client.submit(boom).then(() => {})
    await new Promise(() => {})
  },
  /**
   * Closes its client, which has a cluster of its own, this many milliseconds after a map began.
   */
  async closing() {
    const client = await Client.local({ workers: 1 })
    setTimeout(() => void client.close(), Number(address))
    const length = (bytes: Uint8Array): number => bytes.byteLength
    async function* inputs(): AsyncGenerator<Uint8Array> {
      for (;;) yield await readFile(new URL(import.meta.url))
    }
    const results = client.map(length, inputs(), { ordered: false, concurrency: 8 })
    try {
      for await (const _ of results) continue
    } catch (error) {
      console.log((error as Error).name)
    }
    await client.close()
    console.log('closed')
  },
  /** Waits for a scheduler that never comes. */
  async refused() {
    const error: unknown = await Client.connect(address, { timeoutMs: 200 }).catch(
      (reason: unknown) => reason,
    )
    console.log((error as Error).name)
  },
}

await PROGRAMS[what]?.()
