// A large value that many tasks need: it is sent to the cluster once, and to each worker once. Run
// it: `npm run build && node build/examples/send-object.js`.

import { Client } from 'scaler-ts'

const largeObject = [1, 2, 3, 4, 5]

const query = (values: readonly number[], index: number): number | undefined => values[index]

await using client = await Client.local({ workers: 1 })

// The name is optional and only for display. The reference can be passed wherever a task takes an
// argument.
const reference = client.sendObject(largeObject, { name: 'large object' })

console.log(await client.submit(query, reference, 0)) // 1
console.log(await client.submit(query, reference, 1)) // 2

// The object is deleted when the reference is garbage-collected, or immediately:
reference.release()
