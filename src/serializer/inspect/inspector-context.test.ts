import assert from 'node:assert/strict'
import { Session } from 'node:inspector'
import { test } from 'node:test'
import { compileFunction } from 'node:vm'
import { Inspector } from './inspector.js'

const inspector = Inspector.open() as Inspector

/** The index of the scope of `fn` that has the variable. */
function scopeOf(fn: () => unknown, name: string): number {
  const { scopes } = inspector.functionView(fn)
  return scopes.findIndex(({ variables }) => Object.hasOwn(variables, name))
}

test('a variable that is not initialized yet is told apart from one that is undefined', () => {
  const none: readonly unknown[] = []
  const earlier = none[0]
  const fn = (): unknown => [earlier, later]
  const isInitialized = (name: string): boolean =>
    inspector.isInitialized(fn, scopeOf(fn, name), name)
  assert.deepEqual([isInitialized('earlier'), isInitialized('later')], [true, false])
  const later = none[0]
  assert.deepEqual([isInitialized('earlier'), isInitialized('later')], [true, true])
  assert.equal(inspector.isInitialized(Math.sqrt, 0, 'later'), true)
})

test('the debugger is on only while scripts are read, and no closure needs it', (t) => {
  const asked: string[] = []
  // oxlint-disable-next-line typescript/unbound-method -- it is called with its session
  const { post } = Session.prototype
  const noting = function (this: Session, ...question: Parameters<typeof post>): void {
    asked.push(question[0])
    Reflect.apply(post, this, question)
  }
  t.mock.method(Session.prototype, 'post', noting as typeof post)
  const switches = (): string[] => asked.filter((each) => /^Debugger\..*able$/.test(each))
  const fn = Reflect.apply(compileFunction('let n; return () => n'), undefined, []) as () => unknown
  const { location, scopes } = inspector.functionView(fn)
  assert.equal(scopes.length, 1)
  assert.equal(inspector.isInitialized(fn, 0, 'n'), true)
  assert.deepEqual(switches(), [])
  assert.ok(inspector.script(location?.scriptId ?? '') !== undefined)
  assert.deepEqual(switches(), ['Debugger.enable', 'Debugger.disable'])
})
