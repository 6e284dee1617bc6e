// Whether the instances of a class can be made again without running its constructor.

import type { FunctionParts } from '../function/function-parts.js'
import { ownValue, type AnyFunction } from '../native-names.js'
import { prototypeOf } from '../prototype-chain.js'
import { Refusal, refuseClass, refusePrivates } from '../refusal.js'
import { parser } from '../source/parse.js'

/** Asked for each class of a message, and for those above it. */
export interface PartsSource {
  partsOf(fn: AnyFunction): FunctionParts | Refusal
}

/** Answers for one message. */
export class ClassCheck {
  readonly #source: PartsSource
  readonly #issues = new Map<AnyFunction, Refusal | undefined>()

  constructor(source: PartsSource) {
    this.#source = source
  }

  /** Why instances cannot travel; undefined if they can. */
  issueOf(constructor: AnyFunction): Refusal | undefined {
    if (this.#issues.has(constructor)) return this.#issues.get(constructor)
    const issue = this.#find(constructor)
    this.#issues.set(constructor, issue)
    return issue
  }

  #find(constructor: AnyFunction): Refusal | undefined {
    let next: unknown = constructor
    while (typeof next === 'function' && next !== Function.prototype) {
      const parts = this.#source.partsOf(next as AnyFunction)
      if (parts instanceof Refusal) return parts
      if (parts.kind === 'native') return undefined
      if (parts.kind === 'bound' || parts.kind === 'runtime') return refuseClass('bound function')
      const names =
        parts.kind === 'source'
          ? (parts.classParts?.instancePrivates ?? [])
          : privateNames(next as AnyFunction)
      if (names.length > 0) {
        return refusePrivates(String(ownValue(constructor, 'name')), names[0] ?? '')
      }
      next = prototypeOf(next)
    }
    return undefined
  }
}

interface Member {
  readonly type: string
  readonly static?: boolean
  readonly key?: { readonly type: string; readonly name?: string }
}

/** The private members of instances, by the text of the class. */
function privateNames(constructor: AnyFunction): readonly string[] {
  const text = Function.prototype.toString.call(constructor)
  if (!text.startsWith('class') || !/#[\p{ID_Start}$_]/u.test(text)) return []
  try {
    const tree = parser().parseExpressionAt(text, 0, { ecmaVersion: 'latest' }) as unknown as {
      readonly body: { readonly body: readonly Member[] }
    }
    return tree.body.body
      .filter(({ key, static: isStatic }) => isStatic !== true && key?.type === 'PrivateIdentifier')
      .map(({ key }) => `#${key?.name ?? ''}`)
  } catch {
    // It may have some: that is enough.
    return ['#private']
  }
}
