import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextLinkState, type LinkFact, type LinkState } from './link.js'

function walk(...facts: LinkFact[]): LinkState {
  return facts.reduce<LinkState>((state, fact) => nextLinkState(state, fact), 'connecting')
}

test('a link is open once a heartbeat was echoed', () => {
  assert.equal(walk('connected'), 'greeting')
  assert.equal(walk('connected', 'echoed'), 'open')
})

test('a lost link connects and greets again', () => {
  assert.equal(walk('connected', 'echoed', 'disconnected'), 'connecting')
  assert.equal(walk('connected', 'echoed', 'disconnected', 'connected'), 'greeting')
})

test('a stale link greets again', () => {
  assert.equal(walk('connected', 'echoed', 'grewStale'), 'greeting')
})

test('an echo without a connection changes nothing', () => {
  assert.equal(walk('echoed'), 'connecting')
})

test('a closing link stays closed, whatever comes', () => {
  const facts: LinkFact[] = ['connected', 'echoed', 'grewStale', 'disconnected', 'closeRequested']
  for (const fact of facts) {
    assert.equal(walk('connected', 'closeRequested', fact), 'closing')
    assert.equal(walk('connected', 'closeRequested', 'linkClosed', fact), 'closed')
  }
})
