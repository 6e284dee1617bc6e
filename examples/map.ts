// Many tasks of one function. Run it: `npm run build && node build/examples/map.js`.

import { Client } from 'scaler-ts'

await using client = await Client.local({ workers: 2 })

// Results are in input order. Inputs may come from any iterable, including asynchronous ones.
const roots = await client.map(Math.sqrt, Array(100).keys())
console.log(roots.reduce((sum, root) => sum + root, 0).toFixed(2)) // 661.46

// One by one as they become available, in input order.
for await (const root of client.map(Math.sqrt, [1, 4, 9])) console.log(root) // 1, 2, 3

// As they finish, with their index.
const cubes = new Map<number, number>()
const cube = (x: number): number => x ** 3
for await (const [index, value] of client.map(cube, [1, 2, 3], { ordered: false })) {
  cubes.set(index, value)
}
console.log(cubes.get(2)) // 27

// A list of arguments for each task.
const power = (base: number, exponent: number): number => base ** exponent
console.log(
  await client.starmap(power, [
    [2, 10],
    [3, 2],
  ]),
) // [ 1024, 9 ]
