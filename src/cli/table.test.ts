import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError } from '../base/errors.js'
import { textWidth } from '../runtime/progress/line.js'
import { type Column, printWidth, readFilter, readOrder, tableLines } from './table.js'

interface Dog {
  readonly name: string
  readonly kilos: number | undefined
  readonly home?: string
}

const COLUMNS: readonly Column<Dog>[] = [
  { name: 'dog', cell: ({ name }) => name },
  { name: 'weight', cell: ({ kilos }) => `${kilos ?? '–'} kg`, value: ({ kilos }) => kilos },
  { name: 'home', cell: ({ home }) => home ?? '', isText: true, isExtra: true },
  { name: 'initial', cell: ({ name }) => name.slice(0, 1), isHidden: true },
]
const DOGS: readonly Dog[] = [
  { name: 'Rex', kilos: 30 },
  { name: 'Ada', kilos: 5 },
  { name: 'bob', kilos: undefined },
  { name: 'Zoe', kilos: 1_500 },
]
const STYLE = { width: 80, color: false }

function lines(rows: readonly Dog[], width = 80): readonly string[] {
  return tableLines({ columns: COLUMNS, rows }, { width, color: false })
}

function sorted(...names: readonly string[]): string {
  return readOrder(
    COLUMNS,
    names,
  )(DOGS)
    .map(({ name }) => name)
    .join(' ')
}

function filtered(text: string): string {
  return DOGS.filter(readFilter(COLUMNS, text))
    .map(({ name }) => name)
    .join(' ')
}

test('a terminal that does not know its width has 80 columns, as what is no terminal', () => {
  const widthOf = (isTTY: boolean, columns: number): number =>
    printWidth({ isTTY, columns } as NodeJS.WriteStream)
  assert.equal(widthOf(true, 120), 120)
  assert.equal(widthOf(true, 0), 80)
  assert.equal(widthOf(false, 120), 80)
})

test('numbers are aligned to the right; empty columns are left out', () => {
  assert.deepEqual(lines(DOGS.slice(0, 2)), ['dog  weight', 'Rex   30 kg', 'Ada    5 kg'])
  assert.deepEqual(lines([]), [])
})

test('the first column is cut before others are; extra columns never cut it', () => {
  const long = [{ name: 'x'.repeat(70), kilos: 1, home: 'a kennel' }]
  for (const width of [40, 80]) {
    const cut = lines(long, width)
    for (const line of cut) assert.ok(textWidth(line) <= width, line)
    assert.doesNotMatch(cut[0] ?? '', /home/)
    assert.match(cut[1] ?? '', /x…? +1 kg$/)
  }
  assert.match(lines(long, 100)[1] ?? '', /x +1 kg {2}a kennel$/)
})

test('cells that differ only at their end are shortened, then cut in the middle', () => {
  const shorten = (cells: readonly string[]): readonly string[] => {
    return cells.map((text) => text.replace('a common part, ', '…, '))
  }
  const columns = [
    { name: 'dog', cell: ({ name }: Dog) => name },
    { name: 'needs', cell: ({ home }: Dog) => home ?? '', isText: true, shorten },
  ]
  const rows = ['first', 'second'].map((which) => {
    return { name: 'Rex', kilos: 1, home: `a common part, and the ${which} one` }
  })
  const shown = (width: number): readonly string[] => {
    return tableLines({ columns, rows }, { width, color: false }).slice(1)
  }
  assert.match(shown(60)[0] ?? '', /^Rex {2}a common part, and the first one$/)
  assert.deepEqual(shown(27), ['Rex  …, and the first one', 'Rex  …, and the second one'])
  assert.deepEqual(shown(20), ['Rex  …, and …rst one', 'Rex  …, and …ond one'])
})

test('the title is bold with colours, hidden rows are counted, and control characters shown', () => {
  const hidden = { count: 1_234, hint: 'see --limit' }
  const rows = [{ name: 'a\u001b[2J', kilos: 1 }]
  const table = { columns: COLUMNS, rows, title: 'dogs', hidden }
  assert.deepEqual(tableLines(table, { ...STYLE, color: true }), [
    '\u001b[1mdogs   weight\u001b[0m',
    'a?[2J    1 kg',
    '… 1,234 more (see --limit)',
  ])
})

test('rows are sorted by columns; what is unknown comes last', () => {
  assert.equal(sorted('weight'), 'Ada Rex Zoe bob')
  assert.equal(sorted('-weight'), 'Zoe Rex Ada bob')
  assert.equal(sorted('-initial', 'weight'), 'bob Zoe Rex Ada')
  assert.equal(sorted(), 'Rex Ada bob Zoe')
  assert.throws(() => sorted('-'), { message: 'option sort: expected a column after -' })
  assert.throws(() => sorted('age'), {
    message: 'option sort: unknown column "age"; there are dog, weight, home, initial',
  })
})

test('filters compare values, parts of text and numbers with units', () => {
  assert.equal(filtered('dog=rex'), 'Rex')
  assert.equal(filtered('dog!=rex'), 'Ada bob Zoe')
  assert.equal(filtered('dog~O'), 'bob Zoe')
  assert.equal(filtered('weight=30'), 'Rex')
  assert.equal(filtered('weight=30 kg'), 'Rex')
  assert.equal(filtered('weight=– kg'), 'bob')
  assert.equal(filtered('weight>5'), 'Rex Zoe')
  assert.equal(filtered('weight>=5'), 'Rex Ada Zoe')
  assert.equal(filtered('weight<30'), 'Ada')
  assert.equal(filtered('weight>1.2kB'), 'Zoe')
  assert.equal(filtered('weight<0.5 min'), 'Ada')
  assert.equal(filtered('dog==Rex'), 'Rex')
  assert.equal(filtered('O'), 'bob Zoe')
})

for (const [text, message] of [
  ['dog: rex', /^option filter: expected COLUMN=VALUE, .+, got "dog: rex"$/],
  ['age=1', /^option filter: unknown column "age"; there are dog, /],
  ['weight=heavy', /^option filter: expected a number after weight=, got "heavy"$/],
  ['weight!=heavy', /^option filter: expected a number after weight!=, got "heavy"$/],
  ['weight>heavy', /^option filter: expected a number after weight>, got "heavy"$/],
  ['dog>1', /^option filter: dog is text; use =, != or ~ instead of >$/],
  ['weight>1 stone', /^option filter: expected a number after/],
] as const) {
  test(`a wrong filter is refused: ${text}`, () => {
    assert.throws(
      () => readFilter(COLUMNS, text),
      (error) => {
        return error instanceof ConfigError && message.test(error.message)
      },
    )
  })
}
