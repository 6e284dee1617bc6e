// The client inside the tasks of one processor, as src/client/travel.ts creates it: one for all of
// them.

import { identity, taskId, type Identity, type TaskId } from '#src/base/ids.js'
import { ClientHost, type ClientSettings } from './client-host.js'
import { Future, type FutureOutcome } from './future.js'
import type { Program } from './program.js'
import { optionsOf, programBytes, shipFunction } from './shipment.js'
import type { PipeSettings } from './virtual-pipe.js'
import type { VirtualProcess } from './virtual-process.js'
import type { World } from './world.js'

/** Its surroundings. */
export interface NestedPlace {
  readonly host: string
  readonly worker: Identity
  readonly clientSettings: ClientSettings
  readonly pipes: PipeSettings
}

/** Submits children. */
export class NestedClient {
  readonly #world: World
  readonly #host: ClientHost

  constructor(world: World, process: VirtualProcess, place: NestedPlace) {
    const name = `nested-${world.nextNumber()}`
    this.#world = world
    this.#host = new ClientHost(world, {
      name,
      identity: identity(name),
      host: place.host,
      process,
      worker: place.worker,
      settings: place.clientSettings,
      pipes: place.pipes,
    })
  }

  /** Calls `onEnd` with `V:` and the value, or with another outcome. */
  submit(
    parent: TaskId,
    priority: number,
    program: Program,
    onEnd: (outcome: string) => void,
  ): void {
    const id = taskId(`${program.name}#${this.#world.nextNumber()}`.padEnd(16, '.'))
    this.#world.journal.name(id, program.name)
    const future = new Future(id, program.name, { type: 'now', afterMs: 0 }, (_, outcome) => {
      onEnd(outcome.type === 'value' ? `V:${outcome.text}` : `X:${endText(outcome)}`)
    })
    this.#host.post({
      type: 'taskSubmitted',
      task: {
        taskId: id,
        owner: future,
        ...shipFunction(program.fn, (content) => this.#host.objectIdOf(content)),
        args: [programBytes(program)],
        options: optionsOf(program, priority, parent),
      },
    })
  }
}

function endText(outcome: FutureOutcome): string {
  return outcome.type === 'end' ? `end ${outcome.reason}` : outcome.text
}
