// For tests: an analyst with predefined answers.

import type { Capture, FunctionAnalyst, FunctionParts, SourceParts } from './function/parts.js'
import { NativeNames, type AnyFunction } from './module/native.js'
import { Refusal } from './refusal.js'
import type { Binding, CodeName, FunctionCode, TextPlace } from './source/sites.js'

/** A captured variable: its name, its value, and the facts from the code. */
export interface GivenCapture {
  readonly name: string
  readonly content: Capture['content']
  readonly isEarly?: boolean
  readonly isConstant?: boolean
}

/** Returns the parts that were given for a function. */
export class FakeAnalyst implements FunctionAnalyst {
  readonly #natives = new NativeNames()
  readonly #parts = new Map<AnyFunction, () => FunctionParts | Refusal>()
  /** The answers of `settle`; the last one is repeated. */
  readonly answers: ('certain' | 'again' | Refusal)[] = ['certain']
  /** How often it was asked for parts. */
  asked = 0
  readonly version: number = 0

  isConstant(): boolean {
    return false
  }

  /** From now on these are the parts of the function, a new copy each time. */
  know(fn: AnyFunction, parts: () => FunctionParts | Refusal): void {
    this.#parts.set(fn, parts)
  }

  memberOf(): undefined {
    return undefined
  }

  remake(): boolean {
    return false
  }

  keepsContents(): boolean {
    return false
  }

  gettersOf(): ReadonlyMap<string, AnyFunction> {
    return new Map()
  }

  referenceOf(): undefined {
    return undefined
  }

  partsOf(fn: AnyFunction): FunctionParts | Refusal {
    this.asked += 1
    const parts = this.#parts.get(fn)?.()
    if (parts !== undefined) return parts
    const name = this.#natives.nameOf(fn)
    return name === undefined
      ? new Refusal(`function ${fn.name}`, 'nobody told', 'tell')
      : { kind: 'native', name }
  }

  placeOf(url: string, { line }: TextPlace): string {
    return `${url}:${line + 1}`
  }

  settle(): 'certain' | 'again' | Refusal {
    return (this.answers.length > 1 ? this.answers.shift() : this.answers[0]) ?? 'certain'
  }
}

/** The parts of a function whose text is `expression`. */
export function sourceParts(
  expression: string,
  captures: readonly GivenCapture[] = [],
  more: Partial<FunctionCode> & Partial<Pick<SourceParts, 'classParts' | 'url'>> = {},
): SourceParts {
  const { classParts, url, ...code } = more
  return {
    kind: 'source',
    code: {
      form: 'value',
      expression,
      isStrict: true,
      names: captures.map(codeName),
      runtime: [],
      parentName: undefined,
      exposesItself: false,
      adoptName: undefined,
      line: 0,
      column: 0,
      ...code,
    },
    url: url ?? 'file:///app/task.js',
    captures: captures.map(({ name, content }) => ({
      name,
      step: `${name} (captured at task.js:1)`,
      content,
    })),
    classParts,
  }
}

function codeName({ name, content, isEarly = false, isConstant = true }: GivenCapture): CodeName {
  const isCell = content.kind === 'cell'
  const binding: Binding = {
    name,
    kind: 'const',
    isOnce: true,
    isConstant: isConstant && !isCell,
    isCell,
    isInitialized: true,
    isNeverUndefined: false,
    literal: undefined,
    origin: undefined,
    isModuleObject: false,
    wrappedSpecifier: undefined,
    isPrivateStore: content.kind === 'privateStore',
    witnesses: [],
    isOfModuleFunction: false,
    ownNameAt: undefined,
    line: 0,
  }
  const free = {
    name,
    binding,
    isAssigned: isCell,
    isOnlyTypeof: false,
    members: undefined,
    calledMembers: [],
    innerWitnesses: [],
    isApart: false,
    depth: 0,
    moduleDepth: 0,
    rootDepth: 0,
    isSliced: false,
    place: { line: 0, column: 0 },
  }
  return { name, free, isCell, isEarly }
}
