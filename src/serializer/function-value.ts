// A function where it is met: by its name, by where it can be imported, or with its code.

import type { FunctionParts, SourceParts } from './function/function-parts.js'
import { boundPlan, writeHeader } from './function-writer.js'
import type { AnyFunction } from './native-names.js'
import { NamedStep } from './path.js'
import type { ContentKind, QueueItem } from './queue-item.js'
import { writeReference } from './reference-codec.js'
import type { SpecialPlan } from './special-object.js'
import * as tag from './tag.js'
import type { UnitContext } from './unit-context.js'
import type { ValueSink } from './value-sink.js'

/** What is needed of the unit. */
export interface FunctionSink extends ValueSink {
  readonly context: UnitContext
  /** Appends what every process has. */
  native(name: string): void
  /** Appends a function that is a unit of its own. */
  makeAnchor(object: object, isClass: boolean): void
  /** Says that a function is this unit's own. */
  claim(object: object): boolean
  /** A place in the queue for what is being written. */
  item(object: object, kind: ContentKind, special: SpecialPlan | undefined): QueueItem
  /** Writes what comes before an item can be waiting, and then lets it wait. */
  within(item: QueueItem, write: () => void): void
}

/** Writes the functions of one unit. */
export class FunctionValues {
  readonly #sink: FunctionSink
  #hasCode = false

  constructor(sink: FunctionSink) {
    this.#sink = sink
  }

  /** Whether any was written with its code. */
  get hasCode(): boolean {
    return this.#hasCode
  }

  /** Forgets all. */
  clear(): void {
    this.#hasCode = false
  }

  /** Appends a function that has its number. */
  write(fn: AnyFunction, parts: FunctionParts): void {
    const { bytes, context, isAnchor } = this.#sink
    switch (parts.kind) {
      case 'native':
        this.#sink.native(parts.name)
        break
      case 'reference':
        bytes.byte(tag.VALUE_EXPORT_FUNCTION)
        writeReference(bytes, parts.reference)
        break
      case 'runtime':
        bytes.byte(tag.VALUE_RUNTIME)
        bytes.byte(parts.role === 'require' ? 1 : 0)
        bytes.text(parts.url)
        break
      case 'bound':
        if (isAnchor) this.#sink.makeAnchor(fn, false)
        else this.#bound(fn, parts)
        break
      default:
        if (context.isClass(fn, parts)) this.#sink.makeAnchor(fn, true)
        else if (isAnchor) this.#sink.makeAnchor(fn, false)
        else this.#closure(fn, parts, false)
    }
  }

  /** Appends the function that is the anchor of the unit. */
  writeRoot(fn: AnyFunction, parts: FunctionParts, isClass: boolean): void {
    if (parts.kind === 'source') this.#closure(fn, parts, isClass)
    else if (parts.kind === 'bound') this.#bound(fn, parts)
    else this.write(fn, parts)
  }

  #closure(fn: AnyFunction, parts: SourceParts, isClass: boolean): void {
    const { bytes, context } = this.#sink
    this.#sink.claim(fn)
    bytes.byte(tag.VALUE_CLOSURE)
    this.#hasCode = true
    const item = this.#sink.item(fn, 'function', undefined)
    this.#sink.within(item, () => {
      const { codes } = context
      item.about = writeHeader(this.#sink, { fn, parts, isClass }, { codes, partsOf })
    })
    function partsOf(other: AnyFunction): ReturnType<UnitContext['partsOf']> {
      return context.partsOf(other)
    }
  }

  #bound(fn: AnyFunction, parts: FunctionParts & { readonly kind: 'bound' }): void {
    const { bytes } = this.#sink
    this.#sink.claim(fn)
    bytes.byte(tag.VALUE_BOUND)
    const special = boundPlan(fn, parts.target)
    this.#sink.within(this.#sink.item(fn, 'bound', special), () => {
      bytes.byte(special.flags)
      this.#sink.value(parts.target, new NamedStep('bound function'))
      this.#sink.captured(parts.self, new NamedStep('bound this'))
      bytes.varint(parts.parameters.length)
      for (const [index, value] of parts.parameters.entries()) {
        this.#sink.captured(value, new NamedStep(`bound argument ${index + 1}`))
      }
    })
  }
}
