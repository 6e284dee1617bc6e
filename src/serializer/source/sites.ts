// Facts about one function from the text of its program. Types only: `analysis.ts` finds the
// answers. Nothing here handles values; see `inspect/` for those.

/** A variable as it is declared in a script. The same object for every function that uses it. */
export interface Binding {
  readonly name: string
  readonly kind:
    | 'import'
    | 'const'
    | 'let'
    | 'var'
    | 'function'
    | 'class'
    | 'parameter'
    | 'catch'
    /** `exports`, `require`, `module`, `__filename`, `__dirname` of a CommonJS file. */
    | 'wrapper'
  /**
   * Declared in a scope that exists once per script: at the top of a module or of a CommonJS file.
   */
  readonly isOnce: boolean
  /**
   * Never assigned after its initialization. False whenever that is not certain: a direct `eval` or
   * `with` that could reach it, a parameter of a sloppy function that uses `arguments`.
   */
  readonly isConstant: boolean
  /** Assigned by a function inside the one that declares it: closures can change it. */
  readonly isCell: boolean
  /** Its declaration initializes it. */
  readonly isInitialized: boolean
  /** Its initializer can never be `undefined` (a literal, a function, `new`, …). */
  readonly isNeverUndefined: boolean
  /** The value of a constant whose initializer is a literal; undefined for any other variable. */
  readonly literal: LiteralValue | undefined
  /** The source of the value, for import bindings and constants from `require('…')`. */
  readonly origin: ImportOrigin | undefined
  /**
   * It holds a module, and its properties are the actual values: `import * as x`, and compiled
   * forms of imports, for example `__toESM(require('x'))` or `await __vite_ssr_import__('x')`.
   */
  readonly isModuleObject: boolean
  /** The module behind a compiler's stand-in for a namespace: `x` in `__toESM(require('x'))`. */
  readonly wrappedSpecifier: string | undefined
  /**
   * Its only use in the script is that of a compiler's stand-in for a private name: a `WeakMap` or
   * `WeakSet` that holds something about `this`.
   */
  readonly isPrivateStore: boolean
  /**
   * Variables beside it that hold another object for each instance of their scope, so that they
   * show which one a function has captured.
   */
  readonly witnesses: readonly string[]
  /**
   * Declared at the top of a module that is a function. It runs once, unless it throws or the
   * module is loaded again.
   */
  readonly isOfModuleFunction: boolean
  /**
   * The offset of the name by which a function expression refers to itself; undefined for any other
   * variable. V8 does not show it to functions inside.
   */
  readonly ownNameAt: number | undefined
  /** Line of the declaration in the script, from 0. */
  readonly line: number
}

/** A position in a script; both count from 0. */
export interface TextPlace {
  readonly line: number
  readonly column: number
}

/**
 * How the value of a variable is changed in place (changes.ts). A level says which object: 0 the
 * value itself, 1 its content, and so on.
 */
export interface Changes {
  /** The first place and the deepest level; undefined if its script changes nothing. */
  readonly own: (TextPlace & OwnChanges) | undefined
  /**
   * Functions of other modules that receive the value, or an object `distance` levels around it.
   */
  readonly givenTo: readonly GivenTo[]
  /** The same for the exports of a module that it holds. */
  readonly members: ReadonlyMap<string, Changes | undefined>
  /** Of a function at the top of its script: the variables of each parameter. */
  readonly parameters: readonly (readonly ParameterChanges[])[] | undefined
}

interface OwnChanges {
  readonly level: number
  /** The offset of the last place. */
  readonly lastAt: number
  /** Some are in functions, which may run at any time. */
  readonly areLate: boolean
}

/** A function of another module that receives a value, or an object around it. */
export interface GivenTo extends TextPlace {
  readonly origin: ImportOrigin
  /** The index of the argument, and the number of levels down. */
  readonly index: number
  readonly distance: number
  /** The value counts as changed if nothing is known of the function. */
  readonly isSuspect: boolean
}

/** A variable of a parameter, and its distance from the argument. */
interface ParameterChanges {
  readonly changes: Changes | undefined
  readonly distance: number
}

/**
 * The visible facts about the value of an expression: an array or object by its keys, a map or set
 * by its entries (a key and a value, or one value), a literal; undefined: nothing.
 */
export type Shape =
  | { readonly kind: 'keys'; readonly keys: ReadonlyMap<string, Shape> }
  | { readonly kind: 'entries'; readonly entries: readonly (readonly Shape[])[] }
  | { readonly kind: 'literal'; readonly value: LiteralValue }
  | undefined

/** A value that is written in the text. */
export type LiteralValue = string | number | bigint | boolean

/** The target of an import. */
export interface ImportOrigin {
  readonly specifier: string
  /** `require('x')` returns the exports themselves, `import` a namespace of them. */
  readonly form: 'import' | 'require'
  /**
   * The path from the namespace or exports to the value: `[]` the whole, `['default']`,
   * `['readFile']`, or several steps for `const { a: { b } } = require('x')`.
   */
  readonly path: readonly string[]
}

/** A name that the function uses and does not declare itself. */
export interface FreeName {
  readonly name: string
  /** Undefined if nothing in the script declares it: a global, or the script is not known. */
  readonly binding: Binding | undefined
  /** The function assigns it. */
  readonly isAssigned: boolean
  /** It is used by `typeof name` and in no other way. */
  readonly isOnlyTypeof: boolean
  /**
   * The properties that are read, if the only use is `name.property` or `name['property']`;
   * undefined if it is used in any other way.
   */
  readonly members: readonly string[] | undefined
  /** Properties that are called as methods, `name.property()`, so that `name` is their `this`. */
  readonly calledMembers: readonly string[]
  /** Such as `witnesses` of the binding, in the scopes between the function and the variable. */
  readonly innerWitnesses: readonly string[]
  /** Each function that is made at this place has captured another instance of the variable. */
  readonly isApart: boolean
  /** The depth to which the function only reads its value (read-depth.ts); 0 if unknown. */
  readonly depth: number
  /** The same if it holds a module. */
  readonly moduleDepth: number
  /** The same if only a worker calls the function. */
  readonly rootDepth: number
  /** These depths are too large for a value with a `Buffer`. */
  readonly isSliced: boolean
  /** Its first use. */
  readonly place: TextPlace
}

/** Something in the text of a function that is meaningless outside its place. */
export type Obstacle =
  /** An arrow function that uses the `this` of the surrounding code. */
  | 'this'
  | 'new.target'
  /** A method outside of its object or class that uses `super`. */
  | 'super'
  /** `#name` of a class around the function. */
  | 'private name'
  /** A direct `eval`, whose text could use anything; or `with` around the function. */
  | 'eval'
  /** A class whose definition has effects or unknowable names: `[call()]() {}`. */
  | 'class definition'

/** Text and its meaning, ready to be evaluated somewhere else; made once for each function site. */
export interface FunctionCode {
  /**
   * Where the function is within the value of the expression: the value itself, or the member `m`
   * of it (a method), or the getter or setter of `m`.
   */
  readonly form: 'value' | 'method' | 'getter' | 'setter'
  /**
   * An expression. Captured variables appear under the names of `names`; those with `isCell` as
   * `name.v`; `import()`, `import.meta`, and the `require` of a CommonJS file as calls and reads
   * of the names in `runtime`. It has as many lines as the original and, but for rewritten names,
   * its columns.
   */
  readonly expression: string
  readonly isStrict: boolean
  /**
   * The values to pass in, by their names in the expression: free names that are variables. A name
   * without a binding is a global unless a scope has it; then it must not be passed.
   */
  readonly names: readonly CodeName[]
  /** Runtime functions that the expression needs, by their names in it. */
  readonly runtime: readonly RuntimeName[]
  /** The name under which a class expects its parent; undefined if it has none. */
  readonly parentName: string | undefined
  /**
   * The name under which a class with static private fields expects a function, which it calls
   * during its definition with one `{ name: '#x', get(), set(value) }` for each of them.
   */
  readonly adoptName: string | undefined
  /** It may hand out the function itself, which could then be changed. */
  readonly exposesItself: boolean
  /**
   * The position of the expression's first character in the script, from 0. Column may be negative.
   */
  readonly line: number
  readonly column: number
}

/** A captured variable in the code. */
export interface CodeName {
  /** As in the expression. Differs from `free.name` only for `arguments` and clashes. */
  readonly name: string
  readonly free: FreeName
  /** The expression reads and writes `name.v`. */
  readonly isCell: boolean
  /** Its value is needed when the expression is evaluated: a computed key of a class. */
  readonly isEarly: boolean
  /** The expression reads this export of the module that is passed under the name. */
  readonly liveExport?: string | undefined
}

/** A name for something that cannot be a captured value. */
export interface RuntimeName {
  readonly name: string
  /** `import(specifier, options)`, `import.meta`, `require` of the file. */
  readonly kind: 'import' | 'meta' | 'require'
}

/** One function of a script. */
export interface FunctionSite {
  readonly kind: 'function' | 'arrow' | 'method' | 'getter' | 'setter' | 'class'
  /** The obstacles to moving it on its own. */
  readonly obstacles: readonly (TextPlace & { readonly kind: Obstacle })[]
  readonly freeNames: readonly FreeName[]
  /** Never throws; of no use while there are obstacles. The same object at each call. */
  readonly code: FunctionCode
  /**
   * The code with these free names as cells, too: for imports of variables that their module
   * changes. `live`: names that stand for these exports of modules. The same object for the same
   * names.
   */
  readonly codeWith: (
    cells: ReadonlySet<string>,
    live?: ReadonlyMap<string, string>,
  ) => FunctionCode
  /** For a class: further facts from its text. */
  readonly classSite: ClassSite | undefined
  /**
   * For a class: the same site with computed names of methods and accessors as captured values, by
   * the names of `ClassSite.computedMembers`, so that they are not computed again. The same object
   * at each call; undefined if it cannot be made.
   */
  readonly withNamedMembers: () => FunctionSite | undefined
  /** A scope inside it declares a name that it also uses from outside. */
  readonly hasShadows: boolean
  /** Line and column of the function's first character in the script, from 0. */
  readonly line: number
  readonly column: number
}

/** The facts about a class that its text states. */
export interface ClassSite {
  /** It has an `extends` clause. */
  readonly hasParent: boolean
  /** `extends null`. */
  readonly extendsNull: boolean
  /** Names of private fields, methods and accessors of instances, with `#`. */
  readonly instancePrivates: readonly string[]
  /** Names of private static fields, with `#`: the code takes them through `adoptName`. */
  readonly staticPrivates: readonly string[]
  /** Methods and accessors whose names are computed, in their order. */
  readonly computedMembers: readonly ComputedMember[]
}

/** A method or accessor of a class that cannot travel without it. */
export interface MemberSite {
  /** Its name: a text or a well-known symbol. */
  readonly key: string | symbol
  readonly isStatic: boolean
  /** Which part of the property it is. */
  readonly slot: 'value' | 'get' | 'set'
  /** The offset that V8 gives for the class. */
  readonly classAt: number
  /**
   * Its class is evaluated at most once per evaluation of the script: a module, or a file that is
   * a function.
   */
  readonly onceIn: 'module' | 'file' | undefined
  /**
   * Variables around the class that hold another object for each evaluation of it. They are the
   * only ones of their name.
   */
  readonly witnesses: readonly string[]
}

/** A method or accessor whose name is computed: `[name]() {}`. */
export interface ComputedMember {
  /** The name under which its own name is passed in. */
  readonly name: string
  readonly kind: 'method' | 'get' | 'set'
  readonly isStatic: boolean
  /** As the text of its function. */
  readonly text: string
}
