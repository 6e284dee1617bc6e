// Finds the facts about each variable during a walk over a whole script, and the positions of its
// functions. Patterns that compilers and bundlers write are recognised here.

import type * as acorn from 'acorn'
import type { VariableChanges } from './changes.js'
import { assignedValue, ExportedNames } from './exported-names.js'
import { callerIn, makesFresh, setEsbuildRole } from './fresh.js'
import {
  isArithmetic,
  isNeverUndefined,
  isWrappedModule,
  literalOf,
  makesRequire,
  type ModuleValue,
  moduleValueOf,
  setImportOrigins,
  wrappedSpecifierOf,
} from './initializer.js'
import {
  type FunctionNode,
  isClassNode,
  isFunction,
  kindOf,
  type Node,
  placeOf,
  type RootNode,
  saysStrict,
  statementsOf,
  staticName,
} from './parse.js'
import { type MemberFacts, membersOf } from './members.js'
import { makesWeakStore, PrivateStores } from './private/store.js'
import { inputsOf, makesContainer, makesValue, relianceOf, shapeOf } from './remaking.js'
import { declareBody, isNeverAssigned, type Scope, type Variable } from './scope.js'
import type { LineIndex } from './script.js'
import type { Binding, FunctionSite, ImportOrigin } from './sites.js'
import { type Access, isInLoop, ScopeWalk, type WalkListener } from './walk.js'
import { witnessesOf } from './witnesses.js'

// The result for a variable once a whole script has been walked.

/** The binding of a variable; the same object each time. */
export function bindingOf(variable: Variable, lines: LineIndex): Binding {
  return (variable.binding ??= makeBinding(variable, lines))
}

function makeBinding(variable: Variable, lines: LineIndex): Binding {
  const isConstant = isNeverAssigned(variable)
  return Object.freeze({
    name: variable.name,
    kind: variable.kind,
    isOnce: variable.scope.isTop,
    isConstant,
    isCell: isCell(variable),
    isInitialized: variable.isInitialized,
    isNeverUndefined: !variable.mayBeUndefined,
    literal: isConstant ? variable.literal : undefined,
    origin: isConstant ? originOf(variable) : undefined,
    isModuleObject: (isConstant && variable.isModuleObject) || isLateModule(variable),
    wrappedSpecifier: isConstant ? variable.wrappedSpecifier : undefined,
    isPrivateStore: isPrivateStore(variable),
    witnesses: witnessesOf(variable),
    isOfModuleFunction: isOfModuleFunction(variable),
    ownNameAt: variable.scope.kind === 'name' ? variable.position : undefined,
    line: lines.lineOf(variable.position),
  })
}

/** The specifier is meaningless if `require` may be another function. */
function originOf({ origin, originVia }: Variable): ImportOrigin | undefined {
  return originVia === undefined || isNeverAssigned(originVia) ? origin : undefined
}

/** Bundlers set the variables of a module in a function, which is called when it is needed. */
function isLateModule(variable: Variable): boolean {
  const { isInitialized, assignCount, moduleCount } = variable
  return !isInitialized && assignCount === 1 && moduleCount === 1
}

function isPrivateStore(variable: Variable): boolean {
  const { storeCount, hasOtherUse, assignCount, isInitialized } = variable
  const isSetOnce = assignCount + (isInitialized ? 1 : 0) === 1
  return storeCount === 1 && isSetOnce && !hasOtherUse
}

/**
 * A CommonJS file is a function, too, as is a module of a test runner. A sloppy function could call
 * itself through its `arguments`.
 */
function isOfModuleFunction({ scope }: Variable): boolean {
  if (scope.isTop) return scope.kind !== 'module'
  return scope.moduleCaller?.isAssigned === false && !scope.hasMappedArguments
}

/** Whether closures can change it. */
function isCell(variable: Variable): boolean {
  if (isLateModule(variable) || isPrivateStore(variable)) return false
  const isWithinReach = variable.scope.hasEvalWithin && !variable.isFixed
  return variable.isAssignedWithin || isWithinReach
}

/** Drops facts that no function needs, in this scope and those around it. */
export function prune(scope: Scope | undefined, done: Set<Scope>): void {
  for (let each = scope; each !== undefined && !done.has(each); each = each.parent) {
    done.add(each)
    if (each.isTop || each.variables === undefined) continue
    for (const [name, variable] of each.variables) {
      if (!variable.isCaptured) each.variables.delete(name)
    }
    if (each.variables.size === 0) each.variables = undefined
  }
}

/** The parameters of a CommonJS file. */
export const WRAPPER_NAMES: readonly string[] = [
  'exports',
  'require',
  'module',
  '__filename',
  '__dirname',
]

/** The few facts kept about one function of a script. */
export interface RootFacts {
  readonly kind: FunctionSite['kind']
  readonly end: number
  /** Around it. */
  readonly scope: Scope
  readonly isStrict: boolean
  /** Declared by a statement: its name is a variable of the surrounding scope. */
  readonly isDeclaration: boolean
  /** An arrow function at the top of a module. */
  readonly hasNoThis: boolean
  /** For a method of a class: what it is there. */
  readonly member: MemberFacts | undefined
  /** One call of the function around it makes it once at most: it is not in a loop there. */
  readonly isOnceInCall: boolean
  site: FunctionSite | undefined
}

/** Collects the facts during a walk over a script. */
export class VariableFacts implements WalkListener {
  readonly #walk: ScopeWalk
  readonly #source: string
  readonly #tops: ReadonlySet<Node>
  readonly #changes: VariableChanges | undefined
  readonly #stores: PrivateStores
  readonly #members = new Map<Node, MemberFacts>()
  readonly exported: ExportedNames = new ExportedNames((variable, value, exports) => {
    this.#setInitializer(variable, value)
    this.#changes?.hold(exports, { variable, distance: 1 })
  })
  readonly roots: Map<number, RootFacts> = new Map()
  /** The innermost scope that exists once per script. */
  top: Scope

  /** `tops`: functions and blocks whose scopes exist once per script as well. */
  constructor(
    top: Scope,
    source: string,
    tops: ReadonlySet<Node>,
    changes: VariableChanges | undefined,
  ) {
    this.#walk = new ScopeWalk(top, this)
    this.#source = source
    this.#tops = tops
    this.#changes = changes
    this.#stores = new PrivateStores(source)
    this.top = top
  }

  /** Walks the script. Imports are processed before anything that uses them. */
  run(program: acorn.Program): void {
    declareBody(program.body, this.top)
    setImportOrigins(program, this.top)
    this.#walk.visit(program)
    this.#stores.finish(program, this.top)
    this.#changes?.finish()
  }

  onScope(node: Node, scope: Scope): void {
    if (this.#changes !== undefined && isFunction(node)) this.#declareParameters(node, scope)
    if (isFunction(node)) this.#stores.named(node, this.#walk, scope)
    if (isFunction(node) && this.#walk.scope.isTop && this.#walk.loopDepth === 0) {
      const known = this.#walk.scope.find(callerIn(this.#walk.ancestors) ?? '')
      if (known?.esbuildRole === 'module' && !('id' in node && node.id)) scope.moduleCaller = known
    }
    if (!this.#tops.has(node)) return
    scope.isTop = true
    this.top = scope
    for (const variable of scope.variables?.values() ?? []) {
      const isGiven = variable.kind === 'parameter' && WRAPPER_NAMES.includes(variable.name)
      if (isGiven) variable.kind = 'wrapper'
    }
  }

  /** Of a function that is known by the name of a variable. */
  #declareParameters(node: FunctionNode, scope: Scope): void {
    const parent = this.#walk.ancestors.at(-1)
    const named = parent?.type === 'VariableDeclarator' && parent.init === node ? parent : node
    const id = 'id' in named ? named.id : undefined
    const exported =
      parent?.type === 'AssignmentExpression' && parent.left.type === 'MemberExpression'
        ? `exports.${staticName(parent.left.property, parent.left.computed) ?? ''}`
        : ''
    const fn = this.#walk.scope.find(id?.type === 'Identifier' ? id.name : exported)
    if (fn !== undefined) this.#changes?.declare(fn, node, scope)
  }

  onRoot(node: RootNode): void {
    const parent = this.#walk.ancestors.at(-1)
    const kind = kindOf(node, parent)
    if (kind === undefined) return
    const { scope } = this.#walk
    const isClass = isClassNode(node)
    if (isClass) {
      this.#stores.named(node, this.#walk)
      for (const [fn, member] of membersOf(node, this.#source, scope)) this.#members.set(fn, member)
    }
    const { thisOwner } = scope
    this.roots.set(placeOf(node, this.#source), {
      kind,
      end: node.end,
      scope,
      isStrict: scope.isStrict || isClass || saysStrict(statementsOf(node)),
      isDeclaration: node.type === 'FunctionDeclaration',
      hasNoThis: kind === 'arrow' && thisOwner.kind === 'module',
      member: this.#members.get(node),
      isOnceInCall: !scope.owner.isTop && !isInLoop(this.#walk.ancestors),
      site: undefined,
    })
  }

  onEval(): void {
    const { scope: place } = this.#walk
    for (let scope: Scope | undefined = place; scope !== undefined; scope = scope.parent) {
      if (scope.owner === place.owner) scope.hasEval = true
      else scope.hasEvalWithin = true
      if (!place.isStrict) scope.hasSloppyEval = true
    }
  }

  onTarget(node: acorn.MemberExpression): void {
    const { scope, ancestors } = this.#walk
    this.#changes?.target(node, scope)
    this.exported.target(node, ancestors, scope)
  }

  onCall(node: acorn.CallExpression): void {
    this.exported.call(node, this.#walk.scope)
  }

  onName(node: acorn.Identifier, access: Access, value: Node | undefined): void {
    const { scope } = this.#walk
    const variable = scope.find(node.name)
    if (variable === undefined) return
    if (variable.scope.owner !== scope.owner || scope.kind === 'class') variable.isCaptured = true
    if (access === 'read') this.#read(node, variable)
    else if (access === 'initialize' && this.#isFirst(variable)) {
      variable.isInitialized = true
      this.#initialize(variable, value)
    } else this.#assign(variable, access, value)
  }

  #read(node: acorn.Identifier, variable: Variable): void {
    const { ancestors, scope } = this.#walk
    this.#changes?.read(node, { variable, scope, ancestors })
    if (!variable.hasOtherUse) this.#stores.read(node, variable, { scope, ancestors })
  }

  /** Whether a declaration initializes its variable, and does not assign it again. */
  #isFirst(variable: Variable): boolean {
    if (variable.kind !== 'var') return variable.kind === 'const' || variable.kind === 'let'
    return !variable.isInitialized && this.#walk.loopDepth === 0
  }

  #initialize(variable: Variable, value: Node | undefined): void {
    const { scope, ancestors } = this.#walk
    const declarator = ancestors.at(-1)
    const isWhole = declarator?.type === 'VariableDeclarator'
    if (!isWhole || value === undefined) {
      variable.hasOtherUse = true
      this.#takeApart(variable)
      return
    }
    variable.mayBeUndefined = !isNeverUndefined(value)
    variable.literal = literalOf(value)
    const callees = makesFresh(value, scope)
    variable.isFresh = callees !== undefined
    variable.freshVia = callees ?? []
    setEsbuildRole(variable, value, { scope, source: this.#source })
    this.#setStore(variable, value)
    variable.isRequire = makesRequire(value, scope)
    const from = moduleValueOf(value, scope)
    if (from !== undefined) setOrigin(variable, from, [])
    variable.isModuleObject = isModuleValue(value, scope)
    variable.wrappedSpecifier = wrappedSpecifierOf(value)
    if (variable.scope !== scope) return
    variable.isContainer = makesContainer(assignedValue(value), scope)
    this.#setInitializer(variable, assignedValue(value))
  }

  #setInitializer(variable: Variable, value: Node): void {
    const { scope } = this.#walk
    if (!variable.scope.isTop || !makesValue(value, scope)) return
    const { start, end } = value
    const facts = { shape: shapeOf(value, scope), inputs: inputsOf(value) }
    variable.initializer = { start, end, ...facts, ...relianceOf(value, scope) }
  }

  /** `const { a: { b } } = require('x')`. */
  #takeApart(variable: Variable): void {
    const { scope, ancestors } = this.#walk
    const path: string[] = []
    for (let index = ancestors.length - 1; index >= 0; index -= 1) {
      const node = ancestors[index]
      if (node?.type === 'VariableDeclarator') {
        const from = node.init ? moduleValueOf(node.init, scope) : undefined
        if (from !== undefined) setOrigin(variable, from, path)
        return
      }
      if (node?.type === 'ObjectPattern') continue
      if (node?.type !== 'Property') return
      const name = staticName(node.key, node.computed)
      if (name === undefined) return
      path.unshift(name)
    }
  }

  #assign(variable: Variable, access: Access, value: Node | undefined): void {
    if (variable.isFixed) return
    const { scope, ancestors } = this.#walk
    variable.isAssigned = true
    if (scope.owner !== variable.scope.owner) variable.isAssignedWithin = true
    if (access === 'update') {
      variable.hasOtherUse = true
      const parent = ancestors.at(-1)
      const isSafe = parent?.type === 'UpdateExpression' || isArithmeticUpdate(parent)
      if (!isSafe) variable.mayBeUndefined = true
      return
    }
    variable.assignCount += 1
    if (value !== undefined && isModuleValue(value, scope)) variable.moduleCount += 1
    if (value === undefined || !isNeverUndefined(value)) variable.mayBeUndefined = true
    this.#setStore(variable, value)
  }

  #setStore(variable: Variable, value: Node | undefined): void {
    const isStore = value !== undefined && makesWeakStore(value, this.#walk.scope)
    if (isStore) variable.storeCount += 1
    else if (!this.#stores.assigned(variable, value)) variable.hasOtherUse = true
  }
}

function setOrigin(variable: Variable, from: ModuleValue, path: readonly string[]): void {
  const { specifier, form, via } = from
  variable.origin = { specifier, form, path: [...from.path, ...path] }
  variable.originVia = via
}

function isArithmeticUpdate(node: Node | undefined): boolean {
  return node?.type === 'AssignmentExpression' && isArithmetic(node.operator)
}

/** Whether a value is a module, or another variable that holds one. */
function isModuleValue(value: Node, scope: Scope): boolean {
  if (value.type === 'Identifier') {
    const other = scope.find(value.name)
    return other !== undefined && (other.isModuleObject || isNamespace(other))
  }
  const from = moduleValueOf(value, scope)
  return from === undefined ? isWrappedModule(value) : from.path.length === 0
}

function isNamespace({ kind, origin }: Variable): boolean {
  return kind === 'import' && origin?.path.length === 0
}
