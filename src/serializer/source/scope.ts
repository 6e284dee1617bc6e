// Scopes and the variables declared in them, while a tree is walked. What is kept of them
// afterwards is small: see `variable-facts.ts`.

import type {
  Binding,
  GivenTo,
  ImportOrigin,
  LiteralValue,
  Shape,
  TextPlace,
} from './function-site.js'

/**
 * `outside` is what surrounds a text that is looked at alone. `name` has the name that a function
 * expression has for itself; `initializer` is a class field or static block.
 */
export type ScopeKind =
  | 'outside'
  | 'module'
  | 'script'
  | 'function'
  | 'arrow'
  | 'initializer'
  | 'block'
  | 'class'
  | 'with'
  | 'name'

/** An expression from which a value can be made again. */
export interface Initializer {
  readonly start: number
  readonly end: number
  readonly shape: Shape
  /** Exports of the user's own modules that must be such values, too. */
  readonly needs: readonly ImportedName[]
}

/** A name that is imported, or the property of one that holds a module. */
export interface ImportedName {
  readonly name: string
  readonly member: string | undefined
}

/** A variable and what has been seen of it. */
export class Variable {
  readonly name: string
  readonly scope: Scope
  kind: Binding['kind']
  /** Offset of the declaration. */
  position: number
  /** Assignments to it throw, or do nothing. */
  isFixed = false
  /** Assigned after it was initialised. */
  isAssigned = false
  /** Assigned by a function inside the one that declares it. */
  isAssignedWithin = false
  /** Used by a function or class inside the one that declares it. */
  isCaptured = false
  isInitialized = false
  mayBeUndefined = true
  /** What its initializer is, if that is a literal. */
  literal: LiteralValue | undefined
  origin: ImportOrigin | undefined
  /** The `require` that `origin` relies on. */
  originVia: Variable | undefined
  isModuleObject = false
  /** Its initializer makes an object that nobody else has: a function, `{}`, `[]`, a class. */
  isFresh = false
  /** How often it was assigned, and how often it was assigned a module. */
  assignCount = 0
  moduleCount = 0
  /** `createRequire(import.meta.url)`. */
  isRequire = false
  /** How often it was set to a new `WeakMap` or `WeakSet`. */
  storeCount = 0
  /** Used in a way in which no compiler uses its stand-in for a private name. */
  hasOtherUse = false
  /** The module that a compiler's stand-in for a namespace was made of. */
  wrappedSpecifier: string | undefined
  /** Where the expression stands that it can be made again from, if it can (remaking.ts). */
  initializer: Initializer | undefined
  /** Where something in the script may change what it holds. */
  changedAt: number | undefined
  /** On which level, at most: see variable-changes.ts. */
  changedLevel = 0
  /** The exports of the module that it holds, by name, as far as something is done to them. */
  members: Map<string, Variable> | undefined
  /** Functions of other modules that are given it. */
  givenTo: ForeignCall[] | undefined
  /** Of a function: the variables of each parameter. */
  parameters: readonly (readonly Held[])[] | undefined
  /** What is told about it once all is known. */
  binding: Binding | undefined

  constructor(name: string, kind: Binding['kind'], position: number, scope: Scope) {
    this.name = name
    this.kind = kind
    this.position = position
    this.scope = scope
  }
}

/** A variable whose value is at this distance from that of another: see variable-changes.ts. */
export interface Held {
  readonly variable: Variable
  readonly distance: number
}

/** A call, by its offset in place of its line. */
export type ForeignCall = Omit<GivenTo, keyof TextPlace> & { readonly at: number }

/** One scope. */
export class Scope {
  readonly kind: ScopeKind
  readonly parent: Scope | undefined
  /** The scope of the function (or script) that this one belongs to; itself if it is one. */
  readonly owner: Scope
  readonly isStrict: boolean
  /** Where each script has its variables once. */
  isTop = false
  /** The function that owns it is a method: `super` means something. */
  isMethod = false
  /** A direct `eval` in the function itself, or in one inside. */
  hasEval = false
  hasEvalWithin = false
  /** One of them is sloppy: it can declare variables. */
  hasSloppyEval = false
  /** A sloppy function whose parameters are also its `arguments`. */
  hasMappedArguments = false
  variables: Map<string, Variable> | undefined
  /** Names of private members, for a class. */
  privateNames: ReadonlySet<string> | undefined

  constructor(kind: ScopeKind, parent: Scope | undefined, isStrict: boolean) {
    this.kind = kind
    this.parent = parent
    this.isStrict = isStrict
    const isOwner =
      parent === undefined || kind === 'function' || kind === 'arrow' || kind === 'initializer'
    this.owner = isOwner ? this : parent.owner
  }

  /** Declares a variable; what `var` repeats stays as it is, a function takes its place. */
  declare(name: string, kind: Binding['kind'], position: number): Variable {
    this.variables ??= new Map()
    const known = this.variables.get(name)
    if (known !== undefined && (kind === 'var' || kind === 'function')) {
      if (kind === 'function') {
        known.kind = kind
        known.position = position
      }
      return known
    }
    const variable = new Variable(name, kind, position, this)
    this.variables.set(name, variable)
    return variable
  }

  /** The variable that a name means here. Declares the `arguments` of a function when asked for. */
  find(name: string): Variable | undefined {
    const own = this.#own(name)
    if (own !== undefined) return own
    for (let scope = this.parent; scope !== undefined; scope = scope.parent) {
      const variable = scope.#own(name)
      if (variable !== undefined) return variable
    }
    return undefined
  }

  #own(name: string): Variable | undefined {
    const variable = this.variables?.get(name)
    return variable === undefined && name === 'arguments' ? this.#declareArguments() : variable
  }

  /** The nearest scope that has its own `this`: not that of an arrow function. */
  get thisOwner(): Scope {
    let { owner } = this as Scope
    while (owner.kind === 'arrow' && owner.parent !== undefined) owner = owner.parent.owner
    return owner
  }

  #declareArguments(): Variable | undefined {
    const isOfFile = this.kind === 'script' && this.isTop
    if (this.kind !== 'function' && !isOfFile) return undefined
    const variable = this.declare('arguments', 'parameter', 0)
    variable.mayBeUndefined = false
    if (!this.isStrict && this.kind === 'function') this.hasMappedArguments = true
    return variable
  }
}
