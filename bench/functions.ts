// The cost of sending functions: inspecting them, detecting changes, and running them elsewhere.

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Benchmark } from './benchmark.js'

const PROGRAM = fileURLToPath(new URL('functions-program.js', import.meta.url))

/** First and further submits of closures, and the speed of the functions that arrive. */
export const functions: Benchmark = {
  name: 'functions',
  run: async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM])
    const figures = JSON.parse(stdout) as Readonly<Record<string, number>>
    return Object.entries(figures).map(([title, value]) => {
      const [, name = title, unit = ''] = /^(.*) \((\w+)\)$/.exec(title) ?? []
      return { name, unit, value }
    })
  },
}
