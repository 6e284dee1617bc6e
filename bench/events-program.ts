// A client that reads all events of a cluster until its parent stops it.

import { Client } from 'scaler-ts'

const [address = ''] = process.argv.slice(2)
const client = await Client.connect(address)
const closing = new AbortController()
process.once('message', () => closing.abort())
process.send?.('ready')
try {
  for await (const event of client.events({ signal: closing.signal })) void event
} catch (error) {
  if (!closing.signal.aborted) throw error
}
await client.close()
process.disconnect()
