import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import { callbackify } from 'node:util'
import { runInThisContext } from 'node:vm'
import { readText, Refusal } from '../refusal.js'
import type { AnyFunction } from '../module/native.js'
import * as kits from './analyst.kit.js'
import * as exports from './cell-keys.js'

const { TestAnalyst } = kits

const rate = 0.03
const table = [1, 2, 3]
let level = 1
const raise = (): number => (level += 1)

const counter = (): { next: () => number; seen: () => number } => {
  let count = 0
  const own = {}
  return { next: () => (count += own === undefined ? 0 : 1), seen: () => count }
}

test('a captured constant is a value, and the parts of an unchanged function are quick to have', () => {
  const kit = new TestAnalyst()
  const fn = (): number => rate + table.length
  assert.deepEqual(kit.content(fn, 'rate'), { kind: 'value', value: rate })
  const content = kit.content(fn, 'table')
  assert(content.kind === 'value' && content.value === table)
  assert.equal(kit.source(fn).code, kit.source(fn).code)
  assert.equal(
    readText(kit.source(fn).captures[0]?.step ?? '').replace(/:\d+\)$/, ''),
    'rate (captured at analyst.test.js',
  )
})

test('a variable that a function changes is a cell with its value now, one for all functions', () => {
  const kit = new TestAnalyst()
  const read = (): number => level
  const before = kit.content(read, 'level')
  assert(before.kind === 'cell')
  assert.equal(before.value, level)
  raise()
  const after = kit.content(read, 'level')
  const assigned = kit.content(raise, 'level')
  assert(after.kind === 'cell' && assigned.kind === 'cell')
  assert.equal(after.value, level)
  assert.equal(after.key, assigned.key)
})

test('a function of a script that begins in the middle of a file is found in it', () => {
  const kit = new TestAnalyst()
  const text = '(() => { const n = 1; return [() => n,\n  () => -n] })()'
  const place = { filename: 'page.html', lineOffset: 7, columnOffset: 20 }
  for (const fn of runInThisContext(text, place) as (() => number)[]) {
    const [name] = kit.source(fn).code.names
    assert.equal(name?.free.binding?.kind, 'const')
  }
})

test('variables of calls are told apart exactly where two functions share one', () => {
  const kit = new TestAnalyst()
  const [one, other] = [counter(), counter()]
  const all = [one.next, one.seen, other.next, other.seen]
  const keyOf = (fn: () => number): object => {
    const content = kit.content(fn, 'count')
    return content.kind === 'cell' ? content.key : assert.fail(content.kind)
  }
  for (const fn of all) keyOf(fn)
  assert.equal(kit.analyst.settle(all), 'again')
  assert.equal(kit.analyst.settle(all), 'certain')
  assert.equal(keyOf(one.next), keyOf(one.seen))
  assert.equal(keyOf(other.next), keyOf(other.seen))
  assert.notEqual(keyOf(one.next), keyOf(other.next))
})

test('what was settled stays when another function comes in', () => {
  const kit = new TestAnalyst()
  const make = (): (() => number)[] => {
    let count = 0
    const next = (): number => (count += 1)
    return [next, () => count, () => next() - count]
  }
  const [next, seen, negative] = make()
  assert(next !== undefined && seen !== undefined && negative !== undefined)
  const keyOf = (fn: () => number): object => {
    const content = kit.content(fn, 'count')
    return content.kind === 'cell' ? content.key : assert.fail(content.kind)
  }
  keyOf(next)
  keyOf(seen)
  assert.equal(kit.analyst.settle([next, seen]), 'again')
  const settled = keyOf(next)
  keyOf(negative)
  assert.equal(kit.analyst.settle([next, negative]), 'again')
  assert.equal(keyOf(next), settled)
  assert.equal(keyOf(negative), settled)
  assert.equal(keyOf(seen), settled)
})

test('what several snapshots have told apart is compared again', () => {
  const kit = new TestAnalyst()
  const make = (): (() => number)[] => {
    let count = 0
    const next = (): number => (count += 1)
    return [next, () => count++ + next()]
  }
  const [a, c] = make()
  const [b, d] = make()
  assert(a !== undefined && b !== undefined && c !== undefined && d !== undefined)
  const keyOf = (fn: () => number): object => {
    const content = kit.content(fn, 'count')
    return content.kind === 'cell' ? content.key : assert.fail(content.kind)
  }
  for (const fn of [a, b, c, d]) keyOf(fn)
  kit.analyst.settle([a, b])
  kit.analyst.settle([c, d])
  assert.equal(kit.analyst.settle([a, c]), 'again')
  assert.equal(keyOf(a), keyOf(c))
  assert.notEqual(keyOf(b), keyOf(c))
})

test('a class that no longer inherits what its text says is refused', () => {
  const kit = new TestAnalyst()
  class One {}
  class Other {}
  class Torn extends One {}
  const torn = Torn as unknown as AnyFunction
  assert.equal(kit.source(torn).classParts?.parent, One)
  Object.setPrototypeOf(Torn.prototype, Other.prototype)
  assert.match(kit.reason(torn), /prototype was changed/)
  Object.setPrototypeOf(Torn, Other)
  assert.equal(kit.source(torn).classParts?.parent, Other)
})

test('a class that inherits from a proxy is refused, whenever that began; nobody asks it', () => {
  const kit = new TestAnalyst()
  class Base {}
  class Derived extends Base {
    static readonly #made = 7
    static get made(): number {
      return Derived.#made
    }
  }
  const derived = Derived as unknown as AnyFunction
  assert.deepEqual(kit.source(derived).classParts?.staticPrivates, [{ name: '#made', value: 7 }])
  const refuse = (): never => assert.fail('the proxy was asked')
  const traps: ProxyHandler<AnyFunction> = {
    getOwnPropertyDescriptor: refuse,
    getPrototypeOf: refuse,
    get: refuse,
  }
  Object.setPrototypeOf(Derived, new Proxy(Base as unknown as AnyFunction, traps))
  assert.match(kit.reason(derived), /^class Derived .*it inherits from a Proxy/)
  assert.match(new TestAnalyst().reason(derived), /^class Derived .*it inherits from a Proxy/)
})

test('functions that only read a variable of their call need no decision', () => {
  const kit = new TestAnalyst()
  const one = counter()
  const other = counter()
  kit.content(one.seen, 'count')
  kit.content(other.seen, 'count')
  assert.equal(kit.analyst.settle([one.seen, other.seen]), 'certain')
})

test('imports of Node are references, by name, as a namespace and as a value in between', () => {
  const kit = new TestAnalyst()
  const fn = (file: string): unknown => [readFileSync(file), path.join('a', 'b')]
  const module = { kind: 'builtin', id: 'node:fs' }
  const reference = { module, form: 'import', path: ['readFileSync'] }
  assert.deepEqual(kit.content(fn, 'readFileSync'), { kind: 'reference', reference })
  assert.equal(kit.content(fn, 'path').kind, 'reference')
  assert.equal(kit.parts(readFileSync).kind, 'native')
})

test('a module of this package is imported, and of one of the user’s own what is used travels', () => {
  const kit = new TestAnalyst()
  const fn = (): unknown => exports.CellKeys
  const module = { kind: 'own', file: 'serializer/function/cell-keys.js' }
  const reference = { module, form: 'import', path: [] }
  assert.deepEqual(kit.content(fn, 'exports'), { kind: 'reference', reference })
  const own = (): unknown => kits.TestAnalyst
  const names = ['TestAnalyst']
  assert.deepEqual(kit.content(own, 'kits'), { kind: 'members', module: kits, names })
})

test('a variable that is not initialized yet is refused', () => {
  const kit = new TestAnalyst()
  const fn = (): unknown => [later.length, new Later()]
  assert.match(kit.reason(fn), /variable later .*not initialized yet/)
  const later = [1]
  class Later {
    readonly field = 1
  }
  const content = kit.content(fn, 'later')
  assert(content.kind === 'value' && content.value === later)
})

test('a variable that may hold undefined is not taken for one that is not initialized', () => {
  const kit = new TestAnalyst()
  const constant = (): unknown => laterItem
  const variable = (): unknown => laterLet
  const withDefault = (item = laterItem): unknown => item
  assert.match(kit.reason(constant), /variable laterItem .*not initialized yet/)
  assert.match(kit.reason(variable), /variable laterLet .*not initialized yet/)
  const laterItem = [1].at(5)
  let laterLet = [2].at(5)
  let late: number | undefined
  for (const fn of [constant, variable, withDefault, (): unknown => late]) {
    const [capture] = kit.source(fn).captures
    assert(capture !== undefined && 'value' in capture.content)
    assert.equal(capture.content.value, undefined)
  }
  laterLet = late = 1
  assert.equal(laterLet + late, 2)
})

test('a bound function is its target, its this and its arguments', () => {
  const kit = new TestAnalyst()
  const self = { rate }
  const target = function (this: { rate: number }, years: number, months: number): number {
    return this.rate * (years + months / 12)
  }
  const parts = kit.parts(target.bind(self, 5))
  assert(parts.kind === 'bound')
  assert.equal(parts.target, target)
  assert.equal(parts.self, self)
  assert.deepEqual(parts.parameters, [5])
})

test('a class has its parent and the private parts that its text does not show', () => {
  const kit = new TestAnalyst()
  class Base {
    static readonly #made = 7
    static get made(): number {
      return Base.#made
    }
  }
  class Derived extends Base {
    readonly #secret = 1
    get secret(): number {
      return this.#secret
    }
  }
  assert.deepEqual(kit.source(Base as unknown as AnyFunction).classParts, {
    parent: undefined,
    staticPrivates: [{ name: '#made', value: 7 }],
    instancePrivates: [],
  })
  assert.deepEqual(kit.source(Derived as unknown as AnyFunction).classParts, {
    parent: Base,
    staticPrivates: [],
    instancePrivates: ['#secret'],
  })
})

test('what means nothing elsewhere is refused with its reason and a way out', () => {
  const kit = new TestAnalyst()
  const owner = {
    name: 'owner',
    make(): () => string {
      return () => this.name
    },
    derived: {
      text: 'super',
      write(): string {
        // oxlint-disable-next-line no-unsafe-member-access -- what an object inherits is not typed
        return (super.valueOf as () => string)()
      },
    } as { readonly write: () => string },
  }
  assert.match(
    kit.reason(owner.make()),
    /uses the `this` of the surrounding code.*const self = this/,
  )
  const { write } = owner.derived
  assert.match(kit.reason(write), /uses `super`/)
  const text = 'rate'
  // oxlint-disable-next-line no-eval -- it is what must be refused
  const evaluating = (): unknown => eval(text) as unknown
  assert.match(kit.reason(evaluating), /calls `eval`/)
  assert.match(kit.reason(callbackify(async () => {})), /created by node:/)
  assert.match(kit.reason(new Proxy(raise, {})), /Proxy/)
})

test('a function whose user gave its captures needs nobody to look', () => {
  const kit = new TestAnalyst()
  const factor = 2
  const fn = (value: number): number => value * factor
  kit.explicit.withCaptures(fn, { captures: { factor: 5 } })
  assert.deepEqual(kit.content(fn, 'factor'), { kind: 'value', value: 5 })
})

test('a captured name that was not given is named, with both ways to give it', () => {
  const kit = new TestAnalyst()
  const factor = 2
  const fn = (value: number): number => value * factor
  kit.explicit.withCaptures(fn, { captures: {} })
  assert.match(kit.reason(fn), /factor.*captures: \{ factor \}.*import\.meta\.url, 'exportName'/)
})

test('an export by its module’s URL is a reference, and runs here, too', async () => {
  const kit = new TestAnalyst()
  const url = new URL('../refusal.js', import.meta.url).href
  const fn = kit.explicit.ofExport(url, 'captureText')
  const parts = kit.parts(fn)
  assert(parts.kind === 'reference')
  assert.deepEqual(parts.reference.path, ['captureText'])
  assert.equal(await fn('db', 'app.ts:3'), 'db (captured at app.ts:3)')
})

test('wrong arguments of task name what is wrong', () => {
  const kit = new TestAnalyst()
  const wrong = { captures: 3 } as unknown as { captures: Record<string, unknown> }
  assert.throws(() => kit.explicit.withCaptures(raise, wrong), /captures must be an object/)
  const misspelt = { capture: {} } as unknown as { captures: Record<string, unknown> }
  const hint = /^ConfigError: unknown task option capture; is it captures\?$/
  assert.throws(() => kit.explicit.withCaptures(raise, misspelt), hint)
  assert.throws(() => kit.explicit.ofExport('nowhere', 'x'), /URL of a module, got nowhere/)
  assert.throws(() => kit.explicit.ofExport(import.meta.url, ''), /name of an export/)
})

test('registrations take effect for functions that are known', () => {
  const kit = new TestAnalyst()
  const fn = (): number => rate
  assert.equal(kit.parts(fn).kind, 'source')
  kit.policy.registerByReference(import.meta.url)
  const parts = kit.analyst.partsOf(fn)
  assert(parts instanceof Refusal || parts.kind === 'reference')
})
