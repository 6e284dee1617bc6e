// `npm run demo`: builds and runs the demo (examples/compress.ts), in this process, so that it has
// the terminal to itself.

import { build } from './prepare.mjs'

await build()
await import('../build/examples/compress.js')
