import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ConnectionEnd } from '../../transport/end.js'
import { NO_END } from '../memory-link.test.kit.js'
import type { ConnectionEvent } from '../traffic.js'
import { firstAnswer } from './attempt.js'

const REFUSED: ConnectionEnd = { ...NO_END, kind: 'refused', reason: 'ECONNREFUSED' }

/** The error after one failed attempt, while another is as far as `end` says. */
async function errorAfter(failed: ConnectionEnd, end: ConnectionEnd): Promise<string> {
  let listener: (event: ConnectionEvent) => void = () => {}
  const connection = {
    address: 'tcp://127.0.0.1:2345',
    end: failed,
    listen: (added: typeof listener) => {
      listener = added
      return () => {}
    },
  }
  const answer = firstAnswer(connection, 1)
  listener({ type: 'failed' })
  connection.end = end
  const error: unknown = await answer.catch((reason: unknown) => reason)
  assert.ok(error instanceof Error)
  return error.message
}

test('an attempt that is just connecting does not hide why the last one failed', async () => {
  assert.match(await errorAfter(REFUSED, NO_END), /connection refused: .* \(one attempt\)$/)
})

test('what an open attempt has found is newer than why the last one failed', async () => {
  const text = await errorAfter(REFUSED, { ...NO_END, stage: 'connected' })
  assert.match(text, /accepts connections, but has sent nothing/)
})
