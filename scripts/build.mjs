// Compiles everything, from a fresh clone too: what `tsc --build` does, and the commands are made
// executable.

import { build } from './prepare.mjs'

await build()
