import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TwoSides } from '../two-sides.kit.js'

const sides = new TwoSides()
const AN_INSTANT = new Date(Date.UTC(2024, 1, 29, 21, 5, 7, 8))

test('encoders and decoders of text arrive ready for use', () => {
  const encoder = new TextEncoder()
  const decoder = new TextDecoder('utf-16le', { fatal: true, ignoreBOM: true })
  const copy = sides.send({ encoder, list: [decoder, decoder] as const })
  assert.deepEqual(copy.encoder.encode('✓'), encoder.encode('✓'))
  assert.equal(copy.list[0], copy.list[1])
  const { encoding, fatal, ignoreBOM } = copy.list[0]
  assert.deepEqual([encoding, fatal, ignoreBOM], ['utf-16le', true, true])
  assert.equal(copy.list[0].decode(new Uint8Array([65, 0])), 'A')
  assert.equal(sides.andBack(decoder).encoding, 'utf-16le')
})

test('formats of Intl arrive with every option, the language and the time zone of here', () => {
  const numbers = [
    new Intl.NumberFormat('de-DE', { style: 'currency', currency: 'EUR' }),
    new Intl.NumberFormat('en', { notation: 'compact' }),
    new Intl.NumberFormat('ar-EG', { maximumSignificantDigits: 3, useGrouping: false }),
    new Intl.NumberFormat(),
  ]
  for (const format of numbers) {
    const copy = sides.send([format])[0]
    assert.ok(copy instanceof Intl.NumberFormat)
    assert.deepEqual(copy.resolvedOptions(), format.resolvedOptions())
    assert.equal(copy.format(1_234_567.891), format.format(1_234_567.891))
  }
  const dates = [
    new Intl.DateTimeFormat('en-GB', {
      dateStyle: 'full',
      timeStyle: 'long',
      timeZone: 'Asia/Tokyo',
    }),
    new Intl.DateTimeFormat('ja-JP-u-ca-japanese', { era: 'short', hour: 'numeric', hour12: true }),
    new Intl.DateTimeFormat('en', { timeStyle: 'short', hour12: false }),
    new Intl.DateTimeFormat(),
  ]
  for (const format of dates) {
    const copy = sides.send(format)
    assert.deepEqual(copy.resolvedOptions(), format.resolvedOptions())
    assert.equal(copy.format(AN_INSTANT), format.format(AN_INSTANT))
  }
})

test('the rest of Intl arrives, too', () => {
  const copy = sides.send({
    collator: new Intl.Collator('sv', { numeric: true, sensitivity: 'base' }),
    plural: new Intl.PluralRules('en', { type: 'ordinal' }),
    relative: new Intl.RelativeTimeFormat('en', { numeric: 'auto' }),
    list: new Intl.ListFormat('en', { type: 'disjunction' }),
    words: new Intl.Segmenter('en', { granularity: 'word' }),
    names: new Intl.DisplayNames(['fr'], { type: 'region' }),
    locale: new Intl.Locale('en-Latn-US', { hourCycle: 'h12' }),
  })
  assert.deepEqual(['ö', 'z', '10', '9'].toSorted(copy.collator.compare), ['9', '10', 'z', 'ö'])
  assert.equal(copy.plural.select(2), 'two')
  assert.equal(copy.relative.format(-1, 'day'), 'yesterday')
  assert.equal(copy.list.format(['a', 'b']), 'a or b')
  assert.equal([...copy.words.segment('a b')].length, 3)
  assert.equal(copy.names.of('US'), 'États-Unis')
  assert.equal(copy.locale.toString(), 'en-Latn-US-u-hc-h12')
})

test('the names that this version of Node has in Temporal and Intl arrive, too', () => {
  const { Temporal } = globalThis as { readonly Temporal?: TemporalLike }
  if (Temporal !== undefined) {
    const day = Temporal.PlainDate.from('2024-02-29')
    assert.equal(sides.send({ day }).day.add({ days: 1 }).toString(), '2024-03-01')
  }
  const { DurationFormat } = Intl as { readonly DurationFormat?: DurationFormatClass }
  if (DurationFormat !== undefined) {
    const format = new DurationFormat('en', { style: 'digital' })
    assert.equal(sides.send({ format }).format.format({ hours: 2 }), format.format({ hours: 2 }))
  }
})

interface TemporalLike {
  readonly PlainDate: { from(text: string): { add(by: { days: number }): { toString(): string } } }
}

type DurationFormatClass = new (
  locale: string,
  options: object,
) => { format(duration: object): string }

test('headers and forms of texts arrive as they are now', () => {
  const headers = new Headers([
    ['a', 'b'],
    ['set-cookie', 'c=1'],
    ['set-cookie', 'd=2'],
  ])
  const form = new FormData()
  form.append('a', 'ü')
  form.append('a', '2')
  const copy = sides.send({ headers, form })
  assert.deepEqual([...copy.headers], [...headers])
  assert.deepEqual(copy.form.getAll('a'), ['ü', '2'])
  headers.set('a', 'later')
  form.delete('a')
  const later = sides.send({ headers, form })
  assert.deepEqual([later.headers.get('a'), later.form.has('a')], ['later', false])
  form.set('file', new Blob(['x']), 'x.txt')
  assert.throws(() => sides.send({ form }), /a FormData cannot travel to another process/)
})

test('a subclass, own properties and what merely inherits are told apart', () => {
  class Euro extends Intl.NumberFormat {
    readonly note: string
    constructor() {
      super('de', { style: 'currency', currency: 'EUR' })
      this.note = 'own'
    }
  }
  const copy = sides.send(new Euro())
  assert.deepEqual([copy.constructor.name, copy.note], ['Euro', 'own'])
  assert.equal(copy.format(1), new Euro().format(1))
  const fake = Object.create(Intl.NumberFormat.prototype) as object
  assert.throws(() => sides.send({ fake }), /a NumberFormat cannot travel/)
})

test('what would stop tasks is refused with the way that does', () => {
  const advice = /client\.with\(\{ signal \}\).*currentTask\(\)\.signal/
  const source = new AbortController()
  assert.throws(() => sides.send({ source }), advice)
  assert.throws(() => sides.send([source.signal]), advice)
})
