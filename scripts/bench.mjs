// `npm run bench`: builds and runs the benchmarks (bench/main.ts).

import { build } from './prepare.mjs'

await build()
await import('../build/bench/main.js')
