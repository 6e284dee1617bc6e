import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allowedNames, type Asker, refusalOf } from './guard.js'

const NAMES = allowedNames('127.0.0.1', ['Monitor.example.org', 'fd00::7'])

function status(more: Partial<Asker>): number {
  const asker: Asker = {
    method: 'GET',
    host: '127.0.0.1:50001',
    origin: undefined,
    fetchSite: undefined,
    localAddress: '127.0.0.1',
    isPage: false,
    ...more,
  }
  return refusalOf(asker, NAMES)?.status ?? 200
}

test('only known hosts are answered: a name that was rebound is not', () => {
  for (const host of [
    'localhost',
    'LOCALHOST:1',
    '[::1]:50001',
    'monitor.example.org',
    '[fd00::7]:80',
  ]) {
    assert.equal(status({ host }), 200, host)
  }
  for (const host of [
    undefined,
    '',
    'evil.example',
    'localhost.evil.example',
    'evil.example#localhost',
    'localhost@evil.example',
    'localhost:50001:1',
    '10.0.0.5',
    'localhost.',
    '127.0.0.1\u0000',
  ]) {
    assert.equal(status({ host }), 403, host)
  }
  assert.equal(status({ host: '10.0.0.5:50001', localAddress: '10.0.0.5' }), 200)
  assert.equal(status({ host: '10.0.0.5:50001', localAddress: '::ffff:10.0.0.5' }), 200)
})

test('requests that other sites cause are refused, except for a link to the page', () => {
  assert.equal(status({ origin: 'http://127.0.0.1:50001' }), 200)
  assert.equal(status({ origin: 'https://Localhost:50001', host: 'localhost:50001' }), 200)
  for (const origin of ['null', 'http://evil.example', 'http://127.0.0.1:1', 'file://', '']) {
    assert.equal(status({ origin }), 403, origin)
  }
  assert.equal(status({ fetchSite: 'cross-site' }), 403)
  assert.equal(status({ fetchSite: 'same-site' }), 403)
  assert.equal(status({ fetchSite: 'cross-site', isPage: true }), 200)
  assert.equal(status({ fetchSite: 'same-origin' }), 200)
  assert.equal(status({ fetchSite: 'none' }), 200)
})

test('nothing but reading is allowed', () => {
  assert.equal(status({ method: 'HEAD' }), 200)
  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'CONNECT', undefined]) {
    assert.equal(status({ method }), 405)
  }
})
