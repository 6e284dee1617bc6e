// Compiles everything, also from a fresh clone: runs `tsc --build` and makes the commands
// executable.

import { build } from './prepare.mjs'

await build()
