// `npm run chaos`: builds and runs the tests with real failures (test/chaos/main.ts).

import { build } from './prepare.mjs'

await build()
await import('../build/test/chaos/main.js')
