// `npm run demo`: from a fresh clone to a running demo (examples/compress.ts), in this process, so
// that it has the terminal for itself.

import { build } from './prepare.mjs'

await build()
await import('../build/examples/compress.js')
