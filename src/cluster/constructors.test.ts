// Classes with a `start` method cannot be created with `new`, which JavaScript does not prevent.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Scheduler } from '../scheduler/scheduler.js'
import { Cluster } from './cluster.js'
import { SchedulerClusterCombo } from './combo.js'

for (const startable of [Scheduler, Cluster, SchedulerClusterCombo]) {
  test(`new ${startable.name}() says how to start one`, () => {
    const Constructor = startable as unknown as new (options?: unknown) => unknown
    for (const options of [undefined, {}, { address: 'tcp://127.0.0.1:0', workers: 1 }]) {
      assert.throws(() => new Constructor(options), {
        name: 'TypeError',
        message: new RegExp(`use await ${startable.name}\\.start\\(options\\)$`),
      })
    }
  })
}
