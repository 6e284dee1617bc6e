// For tests: an analyst as the default serializer has it, and what it says in short.

import { Inspector } from '../inspect/inspector.js'
import { ModuleNames } from '../module/names.js'
import { ModulePolicy } from '../module/policy.js'
import { NativeNames, type AnyFunction } from '../module/native.js'
import { Refusal } from '../refusal.js'
import { ExplicitFunctions } from './explicit.js'
import { SourceAnalyst } from './analyst.js'
import type { Capture, FunctionParts, SourceParts } from './parts.js'

/** An analyst and what steers it. */
export class TestAnalyst {
  readonly policy: ModulePolicy = new ModulePolicy()
  readonly explicit: ExplicitFunctions = new ExplicitFunctions()
  readonly natives: NativeNames = new NativeNames()
  readonly analyst: SourceAnalyst

  /** `openInspector`: for a process that has another one, or none. */
  constructor(openInspector: () => Inspector | undefined = () => Inspector.open()) {
    const { natives, explicit } = this
    const modules = new ModuleNames(this.policy, natives)
    this.analyst = new SourceAnalyst({ natives, modules, explicit, openInspector })
  }

  /** The parts, which must not be a refusal. */
  parts(fn: AnyFunction): FunctionParts {
    const parts = this.analyst.partsOf(fn)
    if (parts instanceof Refusal) throw new Error(parts.reason)
    return parts
  }

  /** The parts of a function that travels with its text. */
  source(fn: AnyFunction): SourceParts {
    const parts = this.parts(fn)
    if (parts.kind !== 'source') throw new Error(`not by source: ${parts.kind}`)
    return parts
  }

  /** What the captured variable of that name is. */
  content(fn: AnyFunction, name: string): Capture['content'] {
    const capture = this.source(fn).captures.find((found) => found.name === name)
    if (capture === undefined) throw new Error(`${name} is not captured`)
    return capture.content
  }

  /** Why the function cannot travel. */
  reason(fn: AnyFunction): string {
    const parts = this.analyst.partsOf(fn)
    if (parts instanceof Refusal) return parts.reason
    const refused = parts.kind === 'source' ? parts.captures : []
    for (const { content } of refused) if (content.kind === 'refusal') return content.refusal.reason
    throw new Error('it is not refused')
  }
}
