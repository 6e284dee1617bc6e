// A client that requests large results, more than any socket buffer holds, and checks them.
// Argument: the scheduler's address.

import { Client } from 'scaler-ts'

const COUNT = 40
const BYTES = 2 ** 20

const make = (value: number, size: number): Uint8Array => new Uint8Array(size).fill(value)

const client = await Client.connect(process.argv[2] ?? '')
const futures = Array.from({ length: COUNT }, (_, index) => client.submit(make, index, BYTES))
const results = Promise.all(futures)
await futures[0]
process.stdout.write(`${JSON.stringify({ event: 'submitted' })}\n`)
let wrong = 0
for (const [index, bytes] of (await results).entries()) {
  if (bytes.length !== BYTES || bytes.some((byte) => byte !== index)) wrong += 1
}
process.stdout.write(`${JSON.stringify({ event: 'done', wrong })}\n`)
await client.disconnect()
