import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { NativeNames, type AnyFunction } from './native.js'

test('built-in functions, classes and objects are known by name, both ways', () => {
  const names = new NativeNames()
  const functions: [AnyFunction, string][] = [
    [Math.max, 'Math.max'],
    [Array.prototype.map as AnyFunction, 'Array.prototype.map'],
    [fs.readFile, 'node:fs#readFile'],
    [setTimeout, 'node:timers#setTimeout'],
  ]
  for (const [fn, name] of functions) {
    assert.equal(names.nameOf(fn), name)
    assert.equal(names.find(name), fn)
  }
  assert.equal(names.objectNameOf(Math), 'Math')
  assert.equal(names.objectNameOf(path.posix), 'node:path')
  assert.equal(names.moduleIdOf(fs), 'node:fs')
  assert.equal(names.moduleIdOf({ ...fs }), undefined)
})

test('exports of a module of Node are known once it has been loaded', () => {
  const names = new NativeNames()
  const ids = ['node:dgram', 'node:repl', 'node:cluster', 'node:http2']
  names.refresh()
  const { moduleLoadList } = process as unknown as { moduleLoadList: readonly string[] }
  const isLoaded = (id: string): boolean =>
    moduleLoadList.includes(`NativeModule ${id.slice('node:'.length)}`)
  const id = ids.find((candidate) => !isLoaded(candidate))
  assert(id !== undefined, 'all of them were loaded before')
  const module = process.getBuiltinModule(id) as Readonly<Record<string, AnyFunction>>
  assert.equal(names.moduleIdOf(module), id)
  const [key, fn] = Object.entries(module).find(([, value]) => typeof value === 'function') ?? []
  assert(key !== undefined && fn !== undefined)
  assert.match(names.nameOf(fn) ?? '', new RegExp(`^${id}#`))
  assert.equal(names.nameOf(fs.readFile as AnyFunction), 'node:fs#readFile')
})

test('a function that a program added to a global class is not known by that name', (t) => {
  const owner = Array as unknown as Record<string, unknown>
  const fn = (): number => 1
  owner['ofOurs'] = fn
  t.after(() => delete owner['ofOurs'])
  assert.equal(new NativeNames().nameOf(fn), undefined)
})

test('a place that this Node does not have is undefined', () => {
  const names = new NativeNames()
  const places = ['@', '@Nothing', '@Map.prototype.nothing', '@Map.get size', '@node:nothing.x']
  for (const place of [
    ...places,
    '@Map.@@nothing',
    '@Map.@@:%zz',
    '@Math.PI.x',
    '@Math.PI',
    '@Math.PI.x.y',
  ]) {
    assert.equal(names.find(place), undefined, place)
  }
})

test('objects that differ between processes have no place', (t) => {
  let listener = (): void => {}
  void new Promise<void>((resolve) => (listener = resolve))
  process.on('SIGUSR2', listener)
  t.after(() => process.off('SIGUSR2', listener))
  assert.equal(new NativeNames().placeOf(listener), undefined)
})

test('no property of a proxy is read on the way', (t) => {
  const owner = globalThis.Map as unknown as Record<string, unknown>
  const handler = new Proxy({}, { get: (_, trap) => assert.fail(String(trap)) })
  owner['guarded'] = new Proxy({}, handler)
  t.after(() => delete owner['guarded'])
  void new Promise((resolve) => assert.equal(new NativeNames().placeOf(resolve), undefined))
})

test('a function that cannot be found has no place', () => {
  const names = new NativeNames()
  void new Promise((resolve) => assert.equal(names.placeOf(resolve), undefined))
  assert.equal(
    names.placeOf(() => {}),
    undefined,
  )
})
