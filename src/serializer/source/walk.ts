// Walks a syntax tree in order and keeps track of the scope at each place. The listener decides
// what to collect: facts about all variables of a script, or the names that one function uses.

import type * as acorn from 'acorn'
import {
  declareBlock,
  declareBody,
  declareOwnName,
  declarePattern,
  declareVariables,
  privateNamesOf,
  Scope,
} from './scope.js'
import {
  eachChild,
  isFunction,
  saysStrict,
  statementsOf,
  type ClassNode,
  type FunctionNode,
  type LoopNode,
  type Node,
  type RootNode,
} from './parse.js'

/** `initialize`: by the declaration itself. `update`: read and assigned, as by `x++`. */
export type Access = 'read' | 'initialize' | 'write' | 'update'

/** Receives the events of a walk. */
export interface WalkListener {
  /** A variable is used; `value` is the expression assigned to it, if there is a single one. */
  onName(node: acorn.Identifier, access: Access, value: Node | undefined): void
  /** A function or class begins; the scope is the one around it. */
  onRoot?(node: RootNode): void
  /** The scope of a function, of its body if that has one of its own, or of a block. */
  onScope?(node: Node, scope: Scope): void
  onThis?(node: acorn.ThisExpression): void
  onSuper?(node: acorn.Super): void
  onMeta?(node: acorn.MetaProperty): void
  onImport?(node: acorn.ImportExpression): void
  onPrivateName?(node: acorn.PrivateIdentifier): void
  onEval?(node: acorn.CallExpression): void
  onCall?(node: acorn.CallExpression): void
  /** A property is assigned or deleted. */
  onTarget?(node: acorn.MemberExpression): void
  /** Whether a part of a class is left out: a member, or its parent. */
  skips?(node: Node): boolean
}

/** One walk. */
export class ScopeWalk {
  readonly #listener: WalkListener
  /** The nodes around the present one, outermost first. */
  readonly ancestors: Node[] = []
  scope: Scope
  /** The number of surrounding loops in the same function. */
  loopDepth = 0

  constructor(scope: Scope, listener: WalkListener) {
    this.scope = scope
    this.#listener = listener
  }

  /** Walks a node where an expression or a statement can stand, or a script. */
  visit(node: Node): void {
    if (node.type === 'Identifier') this.#listener.onName(node, 'read', undefined)
    else if (node.type !== 'Literal') this.#visitCode(node)
  }

  #visitCode(node: Node): void {
    switch (node.type) {
      case 'FunctionDeclaration':
      case 'FunctionExpression':
      case 'ArrowFunctionExpression':
        this.#function(node, false)
        return
      case 'ClassDeclaration':
      case 'ClassExpression':
        this.#class(node)
        return
      case 'BlockStatement':
        this.#block(node, node.body)
        return
      case 'VariableDeclaration':
        this.#declaration(node, undefined)
        return
      default:
        this.#visitOther(node)
    }
  }

  #visitOther(node: Node): void {
    switch (node.type) {
      case 'AssignmentExpression':
        this.#assignment(node)
        return
      case 'UpdateExpression':
        this.#target(node, node.argument, 'update')
        return
      case 'CallExpression':
        this.#call(node)
        return
      case 'Property':
        this.#property(node)
        return
      case 'ForStatement':
      case 'ForInStatement':
      case 'ForOfStatement':
      case 'WhileStatement':
      case 'DoWhileStatement':
        this.#loop(node)
        return
      case 'SwitchStatement':
        this.#switch(node)
        return
      case 'CatchClause':
        this.#catch(node)
        return
      case 'WithStatement':
        this.#with(node)
        return
      default:
        this.#visitLeaf(node)
    }
  }

  /** Nodes with a meaning of their own, and everything else. */
  #visitLeaf(node: Node): void {
    switch (node.type) {
      case 'ThisExpression':
        this.#listener.onThis?.(node)
        return
      case 'Super':
        this.#listener.onSuper?.(node)
        return
      case 'MetaProperty':
        this.#listener.onMeta?.(node)
        return
      case 'PrivateIdentifier':
        this.#listener.onPrivateName?.(node)
        return
      case 'ImportExpression':
        this.#listener.onImport?.(node)
        break
      case 'UnaryExpression':
        if (node.operator === 'delete') this.#deletion(node.argument)
        break
      default:
    }
    this.#children(node)
  }

  #children(node: Node): void {
    this.ancestors.push(node)
    eachChild(node, this.#visit)
    this.ancestors.pop()
  }

  readonly #visit = (node: Node): void => this.visit(node)

  /** Walks a child of `parent`. */
  #inside(parent: Node, child: Node | null | undefined): void {
    if (!child) return
    this.ancestors.push(parent)
    this.visit(child)
    this.ancestors.pop()
  }

  #within(scope: Scope, walk: () => void): void {
    const { scope: outer } = this
    this.scope = scope
    walk()
    this.scope = outer
  }

  #call(node: acorn.CallExpression): void {
    const { callee } = node
    const isEval = callee.type === 'Identifier' && callee.name === 'eval' && !node.optional
    if (isEval && this.scope.find('eval') === undefined) this.#listener.onEval?.(node)
    this.#listener.onCall?.(node)
    this.#children(node)
  }

  #deletion(argument: Node): void {
    const target = argument.type === 'ChainExpression' ? argument.expression : argument
    if (target.type === 'MemberExpression') this.#listener.onTarget?.(target)
  }

  /** A property of an object; `#pattern` handles those of patterns. */
  #property(node: acorn.Property | acorn.AssignmentProperty): void {
    if (node.computed) this.#inside(node, node.key)
    const isMethod = node.kind !== 'init' || node.method
    if (isMethod && node.value.type === 'FunctionExpression') {
      this.ancestors.push(node)
      this.#function(node.value, true)
      this.ancestors.pop()
    } else this.#inside(node, node.value)
  }

  #assignment(node: acorn.AssignmentExpression): void {
    const isPlain = node.operator === '='
    this.#target(node, node.left, isPlain ? 'write' : 'update', isPlain ? node.right : undefined)
    this.#inside(node, node.right)
  }

  /** Walks the target of an assignment or declaration; without `access` nothing is set by it. */
  #target(parent: Node, pattern: Node, access: Access | undefined, value?: Node): void {
    this.ancestors.push(parent)
    this.#pattern(pattern, access, value)
    this.ancestors.pop()
  }

  #pattern(node: Node, access: Access | undefined, value: Node | undefined): void {
    switch (node.type) {
      case 'Identifier':
        if (access !== undefined) this.#listener.onName(node, access, value)
        return
      case 'MemberExpression':
        this.#listener.onTarget?.(node)
        this.visit(node)
        return
      case 'ObjectPattern':
        this.ancestors.push(node)
        for (const each of node.properties) {
          if (each.type === 'Property' && each.computed) this.#inside(each, each.key)
          this.#target(each, each.type === 'Property' ? each.value : each.argument, access)
        }
        this.ancestors.pop()
        return
      case 'ArrayPattern':
        for (const each of node.elements) if (each !== null) this.#target(node, each, access)
        return
      case 'RestElement':
        this.#target(node, node.argument, access)
        return
      case 'AssignmentPattern':
        this.#target(node, node.left, access)
        this.#inside(node, node.right)
        return
      default:
        this.visit(node)
    }
  }

  /** `access` is given where a loop sets the variables. */
  #declaration(node: acorn.VariableDeclaration, access: Access | undefined): void {
    this.ancestors.push(node)
    for (const declarator of node.declarations) {
      const { id, init } = declarator
      const how = access ?? (init ? 'initialize' : undefined)
      this.#target(declarator, id, how, init ?? undefined)
      this.#inside(declarator, init)
    }
    this.ancestors.pop()
  }

  #block(node: Node, statements: readonly Node[]): void {
    const scope = new Scope('block', this.scope, this.scope.isStrict)
    declareBlock(statements, scope)
    this.#listener.onScope?.(node, scope)
    this.#within(scope, () => this.#children(node))
  }

  #loop(node: LoopNode): void {
    const scope = new Scope('block', this.scope, this.scope.isStrict)
    scope.isLoopHead = true
    this.#within(scope, () => {
      if (node.type === 'ForStatement') this.#forHead(node)
      else if (node.type === 'ForInStatement' || node.type === 'ForOfStatement') this.#forEach(node)
      this.loopDepth += 1
      if (node.type === 'ForStatement') {
        this.#inside(node, node.test)
        this.#inside(node, node.update)
      } else if ('test' in node) this.#inside(node, node.test)
      this.#inside(node, node.body)
      this.loopDepth -= 1
    })
  }

  #forHead(node: acorn.ForStatement): void {
    const { init } = node
    if (init?.type === 'VariableDeclaration' && init.kind !== 'var') {
      declareVariables(init, this.scope)
    }
    this.#inside(node, init)
  }

  #forEach(node: acorn.ForInStatement | acorn.ForOfStatement): void {
    const { left, right } = node
    if (left.type === 'VariableDeclaration') {
      if (left.kind !== 'var') declareVariables(left, this.scope)
      this.#inside(node, right)
      this.ancestors.push(node)
      this.#declaration(left, left.kind === 'var' ? 'write' : 'initialize')
      this.ancestors.pop()
    } else {
      this.#inside(node, right)
      this.#target(node, left, 'write')
    }
  }

  #switch(node: acorn.SwitchStatement): void {
    this.#inside(node, node.discriminant)
    const scope = new Scope('block', this.scope, this.scope.isStrict)
    declareBlock(
      node.cases.flatMap(({ consequent }) => consequent),
      scope,
    )
    this.#within(scope, () => {
      for (const each of node.cases) this.#inside(node, each)
    })
  }

  #catch(node: acorn.CatchClause): void {
    const scope = new Scope('block', this.scope, this.scope.isStrict)
    if (node.param) declarePattern(node.param, 'catch', scope)
    this.#within(scope, () => {
      if (node.param) this.#target(node, node.param, undefined)
      this.#inside(node, node.body)
    })
  }

  #with(node: acorn.WithStatement): void {
    this.#inside(node, node.object)
    this.#within(new Scope('with', this.scope, false), () => this.#inside(node, node.body))
  }

  #function(node: FunctionNode, isMethod: boolean): void {
    this.#listener.onRoot?.(node)
    const statements = statementsOf(node)
    const isStrict = this.scope.isStrict || saysStrict(statements)
    let outer = this.scope
    if (node.type === 'FunctionExpression' && node.id) {
      outer = new Scope('name', outer, isStrict)
      declareOwnName(node.id, 'function', outer)
    }
    const isArrow = node.type === 'ArrowFunctionExpression'
    const scope = new Scope(isArrow ? 'arrow' : 'function', outer, isStrict)
    scope.isMethod = isMethod
    for (const each of node.params) declarePattern(each, 'parameter', scope)
    // Expressions among the parameters do not see what the body declares.
    const hasOwnBody = node.params.some(({ type }) => type !== 'Identifier')
    const body = hasOwnBody ? new Scope('block', scope, isStrict) : scope
    declareBody(statements, body)
    // A `var` with the name of a parameter begins with the value of the parameter.
    for (const name of hasOwnBody ? (scope.variables?.keys() ?? []) : []) {
      const variable = body.variables?.get(name)
      if (variable !== undefined) variable.isAssigned = true
    }
    this.#listener.onScope?.(node, scope)
    if (hasOwnBody) this.#listener.onScope?.(node.body, body)
    const { loopDepth } = this
    this.loopDepth = 0
    this.#within(scope, () => {
      for (const each of node.params) this.#target(node, each, undefined)
      this.scope = body
      this.ancestors.push(node)
      if (node.body.type === 'BlockStatement') this.#children(node.body)
      else this.visit(node.body)
      this.ancestors.pop()
    })
    this.loopDepth = loopDepth
  }

  #class(node: ClassNode): void {
    this.#listener.onRoot?.(node)
    const scope = new Scope('class', this.scope, true)
    if (node.id) declareOwnName(node.id, 'class', scope)
    scope.privateNames = privateNamesOf(node)
    this.#within(scope, () => {
      const { superClass } = node
      if (superClass && this.#listener.skips?.(superClass) !== true) this.#inside(node, superClass)
      this.ancestors.push(node, node.body)
      for (const member of node.body.body) {
        if (this.#listener.skips?.(member) !== true) this.#member(member)
      }
      this.ancestors.length -= 2
    })
  }

  #member(node: acorn.MethodDefinition | acorn.PropertyDefinition | acorn.StaticBlock): void {
    if (node.type !== 'StaticBlock' && node.computed) this.#inside(node, node.key)
    if (node.type === 'MethodDefinition') {
      this.ancestors.push(node)
      this.#function(node.value, true)
      this.ancestors.pop()
      return
    }
    const scope = new Scope('initializer', this.scope, true)
    scope.isMethod = true
    const { loopDepth } = this
    this.loopDepth = 0
    this.#within(scope, () => {
      if (node.type === 'StaticBlock') {
        declareBody(node.body, scope)
        this.#children(node)
      } else this.#inside(node, node.value)
    })
    this.loopDepth = loopDepth
  }
}

/** Whether a loop of the same function is among the ancestors of a node. */
export function isInLoop(ancestors: readonly Node[]): boolean {
  const nearest = ancestors.findLast((node) => isFunction(node) || LOOPS.has(node.type))
  return nearest !== undefined && LOOPS.has(nearest.type)
}

const LOOPS: ReadonlySet<string> = new Set([
  'ForStatement',
  'ForInStatement',
  'ForOfStatement',
  'WhileStatement',
  'DoWhileStatement',
])
