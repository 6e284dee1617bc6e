import assert from 'node:assert/strict'
import { Session } from 'node:inspector'
import { test } from 'node:test'
import { compileFunction } from 'node:vm'
import { Inspector } from './inspector.js'

const inspector = Inspector.open() as Inspector

let runs = 0

interface Counter {
  readonly next: () => number
  readonly get: () => number
  readonly later: () => Promise<number>
  method(): number
}

function counter(): Counter {
  let count = 0
  return {
    next: () => {
      runs += 1
      return (count += 1)
    },
    get: () => {
      runs += 1
      return count
    },
    later: async () => {
      runs += 1
      await Promise.resolve()
      return count
    },
    method() {
      runs += 1
      return count
    },
  }
}

test('a variable can be assigned without running the function, and others see it', () => {
  for (const name of ['next', 'get', 'later', 'method'] as const) {
    const [one, other] = [counter(), counter()]
    const access = inspector.accessTo(one[name], 'count')
    assert.ok(access !== undefined, name)
    assert.equal(access.get(), 0)
    access.set(41)
    assert.equal(runs, 0)
    assert.deepEqual([one.next(), other.next()], [42, 1])
    assert.equal(access.get(), 42)
    runs = 0
  }
})

test('each iteration of a loop has variables of its own', () => {
  const made: (() => number)[] = []
  for (let turn = 0; turn < 2; turn += 1) made.push(() => turn)
  inspector.accessTo(made[0] ?? assert.fail(), 'turn')?.set(7)
  assert.deepEqual(
    made.map((fn) => fn()),
    [7, 1],
  )
})

test('objects without captured variables give no access', () => {
  assert.equal(inspector.accessTo(Math.sqrt, 'count'), undefined)
  assert.equal(inspector.accessTo(counter().get.bind(undefined), 'count'), undefined)
})

test('an unknown name gives no access', () => {
  const access = inspector.accessTo(() => 1, 'nowhereDeclared')
  assert.throws(() => access?.get() ?? assert.fail(), ReferenceError)
})

test('the program continues unchanged', async () => {
  const { next, get } = counter()
  inspector.accessTo(get, 'count')
  await Promise.resolve()
  assert.deepEqual([next(), get()], [1, 1])
})

test('the debugger is turned on once for searches in quick succession, and stops nowhere else', (t) => {
  const readNewScript = (): void => {
    const fn = Reflect.apply(compileFunction('return () => 1'), undefined, []) as () => number
    const { location } = inspector.functionView(fn)
    assert.ok(inspector.script(location?.scriptId ?? '') !== undefined)
  }
  // Turns the debugger off, which the other tests may have left on.
  readNewScript()
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const asked: string[] = []
  // oxlint-disable-next-line typescript/unbound-method -- it is called with its session
  const { post } = Session.prototype
  const noting = function (this: Session, ...question: Parameters<typeof post>): void {
    asked.push(question[0])
    Reflect.apply(post, this, question)
  }
  t.mock.method(Session.prototype, 'post', noting as typeof post)
  const count = (method: string): number => asked.filter((each) => each === method).length
  for (let at = 0; at < 3; at += 1) {
    const { get } = counter()
    inspector.accessTo(get, 'count')?.set(at)
    // With a debugger that may pause, this process would stand still here.
    // oxlint-disable-next-line no-debugger -- that is what is tested
    debugger
    assert.equal(get(), at)
  }
  assert.deepEqual([count('Debugger.enable'), count('Debugger.disable')], [1, 0])
  // Reading scripts needs a report of all of them, so it turns the debugger off and on.
  readNewScript()
  assert.deepEqual([count('Debugger.enable'), count('Debugger.disable')], [2, 2])
  inspector.accessTo(counter().get, 'count')
  t.mock.timers.tick(10_000)
  assert.deepEqual([count('Debugger.enable'), count('Debugger.disable')], [3, 3])
})
