import assert from 'node:assert/strict'
import { test } from 'node:test'
import { collectGarbage, untilCollected } from './finalization.test.kit.js'
import { SharedRegistry } from './finalization.js'

interface Holder {
  registry: SharedRegistry<string> | undefined
}

/** In a function of its own: nothing on the stack refers to the objects. */
function registerSome(registry: SharedRegistry<string>, names: readonly string[]): void {
  for (const name of names) registry.register({ name }, name)
}

test('it calls back for each collected object', async () => {
  const collected = new Set<string>()
  const registry = new SharedRegistry<string>((name) => collected.add(name))
  const kept = {}
  registry.register(kept, 'kept')
  registerSome(registry, ['a', 'b'])
  await untilCollected(() => collected.size === 2)
  assert.deepEqual([...collected].sort(), ['a', 'b'])
  assert.notEqual(kept, undefined)
})

test('it does not call back for what was unregistered', async () => {
  const collected: string[] = []
  const registry = new SharedRegistry<string>((name) => collected.push(name))
  const token = {}
  const registerBoth = (): void => {
    registry.register({}, 'forgotten', token)
    registry.register({}, 'other')
  }
  registerBoth()
  registry.unregister(token)
  await untilCollected(() => collected.length > 0)
  assert.deepEqual(collected, ['other'])
})

test('others still call back after one was collected with its callbacks due', async () => {
  const holder: Holder = { registry: new SharedRegistry<string>(() => undefined) }
  registerSome(holder.registry as SharedRegistry<string>, ['a'])
  await new Promise((resolve) => setImmediate(resolve))
  collectGarbage()
  holder.registry = undefined
  collectGarbage()
  collectGarbage()
  const collected: string[] = []
  registerSome(new SharedRegistry<string>((name) => collected.push(name)), ['b', 'c'])
  await untilCollected(() => collected.length === 2)
})
