// `npm run simulate`: from a fresh clone to a simulation (test/simulation/main.ts).

import { build } from './prepare.mjs'

await build()
await import('../build/test/simulation/main.js')
