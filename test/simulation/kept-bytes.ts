// The memory that this program retains, without code and data of the compiler: these grow by
// themselves.

import { getHeapSnapshot } from 'node:v8'

interface Snapshot {
  readonly snapshot: {
    readonly meta: {
      readonly node_fields: readonly string[]
      readonly node_types: readonly unknown[]
    }
  }
  readonly nodes: readonly number[]
}

/** Kinds of nodes of a heap snapshot that hold objects of a program. */
const KINDS = new Set(['object', 'string', 'concatenated string', 'closure', 'number', 'native'])

/** The bytes of all reachable objects, strings and buffers. */
export async function keptBytes(): Promise<number> {
  const { snapshot, nodes } = await takeSnapshot()
  const { node_fields: fields, node_types: types } = snapshot.meta
  const names = types[0] as readonly string[]
  const size = fields.indexOf('self_size')
  let bytes = 0
  for (let at = 0; at < nodes.length; at += fields.length) {
    if (KINDS.has(names[nodes[at] as number] as string)) bytes += nodes[at + size] as number
  }
  return bytes
}

async function takeSnapshot(): Promise<Snapshot> {
  const chunks: Buffer[] = []
  for await (const chunk of getHeapSnapshot()) chunks.push(Buffer.from(chunk as Uint8Array))
  return JSON.parse(Buffer.concat(chunks).toString('utf8')) as Snapshot
}
