import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { DescriptorRoom, type Closable } from './descriptor-room.js'

/** A process with a limited number of connections. */
class Process {
  readonly open: string[] = []
  readonly room: DescriptorRoom
  readonly #connections = new Map<string, Closable>()

  constructor(limit: number) {
    this.room = new DescriptorRoom(() => this.open.length < limit)
  }

  accept(name: string): void {
    const connection = { close: () => this.#onClosed(name) }
    this.#connections.set(name, connection)
    this.open.push(name)
    this.room.onAccepted(connection)
  }

  is(name: string, what: 'onPeer' | 'onMonitor' | 'onSpoken'): void {
    this.room[what](this.#connections.get(name) as Closable)
  }

  peer(name: string): void {
    this.accept(name)
    this.is(name, 'onPeer')
    this.is(name, 'onSpoken')
  }

  #onClosed(name: string): void {
    this.open.splice(this.open.indexOf(name), 1)
    this.is(name, 'onSpoken')
  }
}

function started(t: TestContext, limit: number): Process {
  t.mock.timers.enable({ apis: ['setInterval'] })
  return new Process(limit)
}

test('while there is room no connection is closed', (t) => {
  const process = started(t, 5)
  for (const name of ['a', 'b', 'c', 'd']) process.accept(name)
  assert.deepEqual(process.open, ['a', 'b', 'c', 'd'])
})

test('one descriptor stays free: the oldest connection without a handshake is closed', (t) => {
  const process = started(t, 4)
  process.peer('peer')
  for (const name of ['a', 'b', 'c', 'd']) process.accept(name)
  assert.deepEqual(process.open, ['peer', 'c', 'd'])
})

test('next are those that have not sent a message; one that has is never closed', (t) => {
  const process = started(t, 4)
  process.accept('mute')
  process.is('mute', 'onPeer')
  process.peer('a')
  process.peer('b')
  process.peer('c')
  assert.deepEqual(process.open, ['a', 'b', 'c'])
  process.peer('d')
  assert.deepEqual(process.open, ['a', 'b', 'c', 'd'])
})

test('a monitor is closed for a peer, not for an unknown connection or another monitor', (t) => {
  const process = started(t, 3)
  process.accept('monitor')
  process.is('monitor', 'onMonitor')
  process.peer('a')
  process.accept('another')
  assert.deepEqual(process.open, ['monitor', 'a', 'another'])
  process.is('another', 'onMonitor')
  assert.deepEqual(process.open, ['monitor', 'a'])
  process.peer('b')
  assert.deepEqual(process.open, ['a', 'b'])
})

test('descriptors taken by something else are noticed', (t) => {
  const process = started(t, 4)
  process.accept('idle')
  process.peer('peer')
  process.open.push('a file', 'another')
  t.mock.timers.tick(500)
  assert.deepEqual(process.open, ['peer', 'a file', 'another'])
})
