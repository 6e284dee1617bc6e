// `npm run fuzz`: builds and runs random values and programs (test/fuzz/main.ts).

import { build } from './prepare.mjs'

await build()
await import('../build/test/fuzz/main.js')
