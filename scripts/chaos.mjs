// `npm run chaos`: from a fresh clone to real failures (test/chaos/main.ts).

import { build } from './prepare.mjs'

await build()
await import('../build/test/chaos/main.js')
