// A large value that many tasks need: it goes to the cluster once, and to each worker once. Run it:
// `npm run build && node build/examples/send-object.js`.

import { Client } from 'scaler-ts'

const largeObject = [1, 2, 3, 4, 5]

const query = (values: readonly number[], index: number): number | undefined => values[index]

await using client = await Client.local({ workers: 1 })

// The name is for people, and may be left out. The reference takes the place of the value wherever
// an argument of a task is asked for.
const reference = client.sendObject(largeObject, { name: 'large object' })

console.log(await client.submit(query, reference, 0)) // 1
console.log(await client.submit(query, reference, 1)) // 2

// It is deleted when the reference is collected as garbage; or at once:
reference.release()
