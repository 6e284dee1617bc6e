// A module in TypeScript that travels by reference to workers that were started with tsx.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { PackedProject } from '../package/packed-project.kit.js'
import { peerFile, tsxFlags } from './peer.js'

const skip = existsSync(peerFile('tools', 'made-of')) ? false : 'no tsx: node scripts/peers.mjs'

const MAIN = `
import { Client, registerByReference } from 'scaler-ts'
import { square } from './own.ts'

registerByReference('./own.ts')
const execArgv = ${JSON.stringify(tsxFlags())}
const client = await Client.local({ workers: 1, execArgv })
console.log(await client.submit(square, 3))
await client.close()
`

/** Needs a compiler: an enum is more than types. */
const OWN = `
enum Power { Square = 2 }
export function square(n: number): number { return n ** Power.Square }
`

test('workers load a .ts module by reference with their own loader', { skip }, async (t) => {
  const files = { 'package.json': '{"type":"module"}', 'main.ts': MAIN, 'own.ts': OWN }
  const project = await PackedProject.make(t, files)
  const outcome = await project.node([...tsxFlags(), 'main.ts'], { TSX_DISABLE_CACHE: '1' })
  assert.deepEqual(outcome, { code: 0, output: '9\n' })
})
