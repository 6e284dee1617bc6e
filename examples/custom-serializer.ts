// A custom serializer: integers take 4 bytes, tables travel column by column, and the default
// serializer handles everything else. It travels to the workers like any function, so nothing has
// to be installed there. Run it: `npm run build && node build/examples/custom-serializer.js`.

import { Client, defaultSerializer, type Serializer } from 'scaler-ts'

// The first byte says which kind of value follows.
const GENERAL = 0x47
const INTEGER = 0x49
const TABLE = 0x54

/** Columns of numbers, all of the same length. */
class Table {
  readonly columns: ReadonlyMap<string, Float64Array>

  constructor(columns: Iterable<readonly [string, Float64Array]>) {
    this.columns = new Map(columns)
  }

  column(name: string): Float64Array {
    const column = this.columns.get(name)
    if (column === undefined) throw new RangeError(`the table has no column ${name}`)
    return column
  }
}

/** The length of the names, the names as JSON, then the bytes of each column. */
function tableToBytes(table: Table): Uint8Array {
  const columns = [...table.columns.values()]
  const names = Buffer.from(JSON.stringify([...table.columns.keys()]))
  const head = Buffer.alloc(5)
  head[0] = TABLE
  head.writeUInt32LE(names.length, 1)
  const bytes = columns.map(({ buffer, byteOffset, byteLength }) => {
    return new Uint8Array(buffer, byteOffset, byteLength)
  })
  return Buffer.concat([head, names, ...bytes])
}

function tableFromBytes(bytes: Uint8Array): Table {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const start = 5 + view.getUint32(1, true)
  const names = JSON.parse(Buffer.from(bytes.subarray(5, start)).toString()) as string[]
  const columnBytes = (bytes.byteLength - start) / Math.max(names.length, 1)
  const columns = names.map((name, index) => {
    const at = start + index * columnBytes
    return [name, new Float64Array(bytes.slice(at, at + columnBytes).buffer)] as const
  })
  return new Table(columns)
}

/** Called here and on the workers: for the function, each argument and each result. */
const serializer: Serializer = {
  serialize(value) {
    if (value instanceof Table) return tableToBytes(value)
    if (typeof value === 'number' && Object.is(value, value | 0)) {
      const bytes = Buffer.alloc(5)
      bytes[0] = INTEGER
      bytes.writeInt32LE(value, 1)
      return bytes
    }
    return Buffer.concat([Buffer.of(GENERAL), defaultSerializer.serialize(value)])
  },

  deserialize(bytes) {
    switch (bytes[0]) {
      case INTEGER:
        return new DataView(bytes.buffer, bytes.byteOffset).getInt32(1, true)
      case TABLE:
        return tableFromBytes(bytes)
      default:
        return defaultSerializer.deserialize(bytes.subarray(1))
    }
  },
}

const add = (a: number, b: number): number => a + b

/** The table with one more column: the product of two others. */
function withProduct(table: Table, one: string, other: string): Table {
  const factors = table.column(other)
  const product = table.column(one).map((value, index) => value * (factors[index] ?? NaN))
  return new Table([...table.columns, [`${one} * ${other}`, product]])
}

const describe = (table: Table): Map<string, number> => {
  return new Map(
    Array.from(table.columns, ([name, column]) => [name, column.reduce(add, 0)] as const),
  )
}

async function main(): Promise<void> {
  await using client = await Client.local({ workers: 1, serializer })
  console.log(`an integer takes ${serializer.serialize(7).length} bytes`)
  console.log(`3 + 4 = ${await client.submit(add, 3, 4)}`)
  console.log(`0.5 + -0 = ${await client.submit(add, 0.5, -0)}`)
  const table = new Table([
    ['price', Float64Array.of(1.5, 2.5, 4)],
    ['count', Float64Array.of(10, 20, 30)],
  ])
  console.log(`a table of 2 columns and 3 rows takes ${serializer.serialize(table).length} bytes`)
  const product = await client.submit(withProduct, table, 'price', 'count')
  console.log(`the result is a ${product instanceof Table ? 'table' : 'plain object'}:`)
  for (const [name, column] of product.columns) console.log(`  ${name}: ${column.join(', ')}`)
  console.log('totals, computed on a worker:', await client.submit(describe, product))
}

await main()
