// One task. Run it: `npm run build && node build/examples/simple.js`.

import { Client } from 'scaler-ts'

const square = (value: number): number => value * value

// A scheduler and one worker on this machine, which stop with the client. To use an existing
// cluster: `new Client('tcp://127.0.0.1:2345')`.
await using client = await Client.local({ workers: 1 })

const future = client.submit(square, 4)
console.log(await future) // 16

console.log(await client.submit(Math.sqrt, 16)) // 4
