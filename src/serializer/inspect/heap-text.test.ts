import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeapTextReader, type SnapshotSink } from './heap-text.js'

const META = {
  node_fields: ['type', 'id'],
  node_types: [['a', 'b']],
  edge_fields: ['type', 'name_or_index', 'to_node'],
  edge_types: [['c']],
}

const TEXT =
  `{"snapshot":{"meta":${JSON.stringify(META)},"node_count":3},\n"nodes":[0,1\n,12,345\n,1,7],` +
  `\n"edges":[1,2,3\n,4,50,600],\n"locations":[1,2,3],\n` +
  `"strings":["","]\\"","two\\\\",\n"thr\\u00e9e"]}`

/** Collects what is read, with the strings that are wanted. */
function collector(wanted: readonly number[]): { readonly lines: string[]; sink: SnapshotSink } {
  const lines: string[] = []
  const sink: SnapshotSink = {
    onHead: (meta, nodeCount) => lines.push(`head ${meta.node_fields.join()} ${nodeCount}`),
    onNode: (fields) => lines.push(`node ${fields.join()}`),
    onEdge: (fields) => lines.push(`edge ${fields.join()}`),
    wantedStrings: () => {
      lines.push('wanted')
      return new Set(wanted)
    },
    onString: (index, text) => lines.push(`string ${index} ${text}`),
  }
  return { lines, sink }
}

const EXPECTED = [
  'head type,id 3',
  'node 0,1',
  'node 12,345',
  'node 1,7',
  'edge 1,2,3',
  'edge 4,50,600',
  'wanted',
  'string 1 ]"',
  'string 2 two\\',
  'string 3 thrée',
]

test('a snapshot is read as a whole', () => {
  const { lines, sink } = collector([1, 2, 3])
  new HeapTextReader(sink).read(TEXT)
  assert.deepEqual(lines, EXPECTED)
})

test('a snapshot may be cut anywhere', () => {
  for (let cut = 0; cut <= TEXT.length; cut += 1) {
    const { lines, sink } = collector([1, 2, 3])
    const reader = new HeapTextReader(sink)
    reader.read(TEXT.slice(0, cut))
    reader.read(TEXT.slice(cut))
    assert.deepEqual(lines, EXPECTED, `cut at ${cut}`)
  }
})

test('a snapshot may come in single characters', () => {
  const { lines, sink } = collector([1, 2, 3])
  const reader = new HeapTextReader(sink)
  for (const character of TEXT) reader.read(character)
  assert.deepEqual(lines, EXPECTED)
})

test('strings that are not wanted are passed over', () => {
  const { lines, sink } = collector([2])
  new HeapTextReader(sink).read(TEXT)
  assert.deepEqual(lines.slice(6), ['wanted', 'string 2 two\\'])
})
