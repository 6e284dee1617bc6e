// `npm run bench`: from a fresh clone to figures (bench/main.ts).

import { build } from './prepare.mjs'

await build()
await import('../build/bench/main.js')
