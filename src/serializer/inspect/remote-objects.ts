// Objects on their way to V8's inspector and back. V8 knows objects by ids of its own. An object
// gets one by way of the tray, an object that both sides know: it is laid there, and a call of one
// line returns it on the other side. What V8 shows by id comes back the same way, as itself.

import type { Runtime } from 'node:inspector'
import type { Properties } from './properties.js'
import { PLACE, type InspectorSession } from './session.js'

/** What passes between the two sides. Without a prototype, so that nothing else is looked up. */
interface Tray {
  item: unknown
  taken: readonly unknown[]
}

/** V8 keeps alive what has an id, so ids are given up together after so many questions. */
const MAX_QUESTIONS = 64

const GROUP = 'scaler-ts'

/** Any other copy of this package uses the same key, and has it for no longer than one question. */
const KEY = 'scaler-ts.inspect'

/** Ids of objects; they live to the end of the turn. */
export class RemoteObjects {
  readonly #session: InspectorSession
  readonly #tray: Tray
  readonly #trayId: string
  readonly #ids = new Map<unknown, string>()
  #questionCount = 0
  #isReleasePlanned = false

  private constructor(session: InspectorSession, tray: Tray, trayId: string) {
    this.#session = session
    this.#tray = tray
    this.#trayId = trayId
  }

  /** Undefined where V8 does not see our objects. */
  static open(session: InspectorSession): RemoteObjects | undefined {
    const tray = Object.assign(Object.create(null), { item: undefined, taken: [] }) as Tray
    const place = session.meetingPlace
    const key = Symbol.for(KEY)
    Object.defineProperty(place, key, { value: tray, configurable: true })
    try {
      const expression = `${PLACE}[Symbol.for('${KEY}')]`
      const { result } = session.ask('Runtime.evaluate', { expression, silent: true })
      return result.objectId === undefined
        ? undefined
        : new RemoteObjects(session, tray, result.objectId)
    } finally {
      Reflect.deleteProperty(place, key)
    }
  }

  /**
   * The own properties of the object, with those that only V8 knows. Runs no getter and no trap,
   * but for this: of a value that is an error, V8 reads `stack`, `name` and `message`.
   */
  propertiesOf(value: object): Properties {
    return this.#session.ask('Runtime.getProperties', {
      objectId: this.idOf(value),
      ownProperties: true,
      nonIndexedPropertiesOnly: true,
    })
  }

  /** The id of an object: good until this turn of the event loop ends, at most. */
  idOf(value: object): string {
    this.#planRelease()
    const known = this.#ids.get(value)
    if (known !== undefined) return known
    this.#tray.item = value
    const { result } = this.#session.ask('Runtime.callFunctionOn', {
      objectId: this.#trayId,
      functionDeclaration: 'function(){return this.item}',
      objectGroup: GROUP,
      silent: true,
    })
    this.#tray.item = undefined
    if (result.objectId === undefined) throw new Error('V8 gave no id for an object')
    this.#ids.set(value, result.objectId)
    return result.objectId
  }

  /** The values themselves. */
  fetch(remotes: readonly Runtime.RemoteObject[]): readonly unknown[] {
    this.#session.ask('Runtime.callFunctionOn', {
      objectId: this.#trayId,
      functionDeclaration: 'function(...values){this.taken=values}',
      arguments: remotes.map(argumentFor),
      silent: true,
    })
    const { taken } = this.#tray
    this.#tray.taken = []
    return taken
  }

  /** Gives up all ids now: nothing that was shown to V8 is kept alive by it any longer. */
  release(): void {
    this.#questionCount = 0
    this.#ids.clear()
    this.#session.ask('Runtime.releaseObjectGroup', { objectGroup: GROUP })
  }

  /** Before an id is given out, so that all that belongs to one question has its ids. */
  #planRelease(): void {
    this.#questionCount += 1
    if (this.#questionCount > MAX_QUESTIONS) {
      this.release()
      this.#questionCount = 1
    }
    if (this.#isReleasePlanned) return
    this.#isReleasePlanned = true
    queueMicrotask(() => {
      this.#isReleasePlanned = false
      if (this.#questionCount > 0) this.release()
    })
  }
}

function argumentFor(remote: Runtime.RemoteObject): Runtime.CallArgument {
  const { objectId, unserializableValue } = remote
  if (objectId !== undefined) return { objectId }
  if (unserializableValue !== undefined) return { unserializableValue }
  if (remote.subtype === 'null') return { value: null }
  return remote.type === 'undefined' ? {} : { value: remote.value as unknown }
}
