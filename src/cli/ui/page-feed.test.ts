import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PageFeed } from './page-feed.js'

class Target {
  writableLength = 0
  isDestroyed = false
  readonly messages: string[] = []

  write(text: string): boolean {
    this.messages.push(text)
    return true
  }

  destroy(): void {
    this.isDestroyed = true
  }
}

test('a page gets at most 50 KB per second', () => {
  const target = new Target()
  let at = 0
  const feed = new PageFeed(target, () => ({ overview: { at, text: String(at).repeat(20_000) } }))
  for (at = 1_000; at < 61_000; at += 1_000) feed.tick(at)
  const bytes = target.messages.reduce((sum, { length }) => sum + length, 0)
  assert.ok(bytes <= 60 * 50_000 + 110_000, `${bytes}`)
  assert.ok(bytes > 60 * 30_000, `${bytes}`)
})

test('a page that does not read is dropped, and costs nothing before', () => {
  const target = new Target()
  let at = 0
  const feed = new PageFeed(target, () => ({ overview: { at } }))
  feed.tick(0)
  target.writableLength = 10
  for (at = 1_000; at <= 15_000; at += 1_000) feed.tick(at)
  assert.equal(target.messages.length, 1)
  assert.equal(target.isDestroyed, false)
  feed.tick(16_000)
  assert.equal(target.isDestroyed, true)
})

test('a page that reads again goes on', () => {
  const target = new Target()
  let at = 0
  const feed = new PageFeed(target, () => ({ overview: { at } }))
  feed.tick(0)
  target.writableLength = 10
  feed.tick(1_000)
  target.writableLength = 0
  at = 30_000
  feed.tick(30_000)
  assert.deepEqual(target.messages, [
    'data: {"overview":{"at":0}}\n\n',
    'data: {"overview":{"at":30000}}\n\n',
  ])
})
