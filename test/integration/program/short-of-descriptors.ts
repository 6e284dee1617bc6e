// A user's program without free file descriptors for a while, in the middle of a map. Argument: the
// scheduler's address. It takes the next step when a line arrives.

import { closeSync, openSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { Client } from 'scaler-ts'

const [address = ''] = process.argv.slice(2)
const stdin = createInterface({ input: process.stdin })
const lines = stdin[Symbol.asyncIterator]()
const files: number[] = []

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}

function takeAll(): void {
  try {
    for (;;) files.push(openSync('/dev/null', 'r'))
  } catch (error) {
    if (files.length > 0) say(String((error as NodeJS.ErrnoException).code))
  }
}

async function* inputs(): AsyncGenerator<number> {
  yield 1
  // Includes the descriptor that the client frees when it loses its connection.
  const taking = setInterval(takeAll, 1)
  takeAll()
  yield 2
  await lines.next()
  clearInterval(taking)
  for (const file of files) closeSync(file)
  yield 3
}

const ignore = (): void => {}
const tell = (text: string, fields: object = {}): void => say(`${text} ${JSON.stringify(fields)}`)
const client = new Client(address, {
  heartbeatIntervalMs: 20,
  logger: { debug: tell, info: tell, warn: ignore, error: tell },
})
const values = await client.map((x: number) => 2 * x, inputs())
say(`values ${values.join(' ')}`)
await client.close()
stdin.close()
