// `npm run simulate`: builds and runs the simulation (test/simulation/main.ts).

import { build } from './prepare.mjs'

await build()
await import('../build/test/simulation/main.js')
