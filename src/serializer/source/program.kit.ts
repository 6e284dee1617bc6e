// For tests: small programs of functions that share variables, made from a list of numbers. Names
// are few, so that they shadow each other everywhere.

/** Variables around the functions, and names for everything inside of them. */
const NAMES = ['a', 'b', 'c', 'd', 'p', 'f0', 'f1', 'f2', 'K', 'x'] as const

/** Stops loops and recursion. */
const IS_SPENT = 'fuel.left-- < 0'

/** Makes choices from numbers; after the last one, always the first choice. */
class Choices {
  readonly #numbers: readonly number[]
  #next = 0

  constructor(numbers: readonly number[]) {
    this.#numbers = numbers
  }

  of(count: number): number {
    const number = this.#numbers[this.#next] ?? 0
    this.#next += 1
    return number % count
  }

  name(): string {
    return NAMES[this.of(NAMES.length)] ?? 'a'
  }
}

/**
 * The body of a function that returns `{ functions, variables }`: the functions of a program, and a
 * way to read its variables. It may have syntax errors, such as a name that is declared twice.
 */
export function programOf(numbers: readonly number[], isStrict: boolean): string {
  const choices = new Choices(numbers)
  const changed = ['a', 'c', 'd', 'p', 'x', 'f0', 'f1'].filter(() => choices.of(2) === 0)
  const body = (): string => statements(choices, 3)
  return `${isStrict ? "'use strict'" : ''}
function make(p) {
  let a = 1, d = [4, 5], x = 8
  const b = 2, fuel = { left: 60 }
  var c = { x: 3 }
  function f0(x, y = ${IS_SPENT} ? 0 : ${expression(choices, 2)}) { /*f0*/ if (${IS_SPENT}) return 0; ${body()}
 return typeof this }
  function f1(${parameter(choices)}) { /*f1*/ if (${IS_SPENT}) return 1; ${body()}
 return typeof this }
  const f2 = (${parameter(choices)}) => { /*f2*/ if (${IS_SPENT}) return 2; ${body()} }
  const o = { *m(x) { /*m*/ if (${IS_SPENT}) return 3; yield x; ${body()} } }
  const f3 = async (x) => { /*f3*/ if (${IS_SPENT}) return 4; await x; ${body()} }
  class L { l() { return ${IS_SPENT} ? 0 : ${expression(choices, 1)} } }
  class K extends L {
    /*K*/ x = ${IS_SPENT} ? 0 : ${expression(choices, 1)}
    static s = ${expression(choices, 1)};
    [b]() { if (${IS_SPENT}) return 5; ${body()} }
    get g() { return super.l() }
  }
  ${choices.of(3) === 0 ? `${choices.name()} = typeof ${expression(choices, 1)}` : ''}
  const change = () => { ${changed.map((name) => `${name} = 1`).join()} }
  const make = () => { const k = new K(); return [k.x, k[2](), k.g, k instanceof L] }
  return {
    functions: { f0, f1, f2, m: o.m, f3, make },
    variables: () => ({ a, b, c, d, p, x, fuel, f0, f1, f2, K, L, arguments, make }),
  }
}
return make(7)`
}

function statements(choices: Choices, depth: number): string {
  const lines = Array.from({ length: 1 + choices.of(3) }, () => statement(choices, depth))
  return `{\n${lines.join('\n')}\n}${choices.of(2) === 0 ? `\nreturn ${expression(choices, depth)}` : ''}`
}

/** Without semicolons: the start of a line must not continue the line before. */
function statement(choices: Choices, depth: number): string {
  const n = choices.name()
  const m = choices.name()
  const e = (): string => expression(choices, depth - 1)
  if (depth <= 0) return `${n} = ${e()}`
  const s = (): string => statement(choices, depth - 1)
  const block = (): string => `{ if (${IS_SPENT}) throw new RangeError(); ${s()}\n${s()} }`
  const forms: readonly (() => string)[] = [
    () => `${n} = ${e()}`,
    () => `${n} += typeof ${e()}`,
    () => `${n}++`,
    () => `--${n}`,
    () => `${n} ??= ${e()}`,
    () => `;[${n}, ${m} = ${e()}] = [${e()}]`,
    () => `;({ ${n}, x: ${m} = ${e()} } = { ${n}: ${e()} })`,
    () => `;({ ${n} = ${e()}, ...${m} } = { y: ${e()} })`,
    () => `for (${n} of [${e()}, 2]) ${block()}`,
    () => `for (${n} in { q: 1 }) ${block()}`,
    () => `for (let ${n} of [${e()}]) ${block()}`,
    () => `for (let ${n} = 0; ${n} < 2; ${n}++) ${block()}`,
    () => `for (var ${n} = 0; ${n} < 2; ${n}++) ${block()}`,
    () => `let ${n} = ${e()}`,
    () => `const ${n} = ${e()}`,
    () => `var ${n} = ${e()}`,
    () => `{ ${s()}\n${s()} }`,
    () => `if (${e()}) ${n}(${e()})\nelse ${block()}`,
    () => `try { ${s()} } catch (${n}) { ${s()} } finally { ${s()} }`,
    () => `try { ${s()} } catch { ${s()} }`,
    () => `function ${n}(${m}) { if (${IS_SPENT}) return 6\n${s()}\nreturn ${e()} }`,
    () => `class ${n} { static ${m} = ${e()}; static { ${m} = ${e()} } }`,
    () => `${n}(${e()})`,
    () => `${n}\`a\${${e()}}\``,
    () => `${n}: { ${s()}\nbreak ${n} }`,
    () => `switch (${e()}) { case ${e()}: ${s()}\ndefault: ${n}(1) }`,
    () => `return ${e()}`,
    () => `${n}.x = ${e()}`,
  ]
  return forms[choices.of(forms.length)]?.() ?? ''
}

function expression(choices: Choices, depth: number): string {
  const n = choices.name()
  const m = choices.name()
  if (depth <= 0) return choices.of(2) === 0 ? n : '1'
  const e = (): string => expression(choices, depth - 1)
  const forms: readonly (() => string)[] = [
    () => n,
    () => `(typeof ${n} + typeof ${e()})`,
    () => `${n} - ${e()}`,
    () => `typeof ${n}`,
    () => `({ ${n}, x: ${e()}, [typeof ${m}]: 1 })`,
    () => `[1, ...[${e()}]][1]`,
    () => `((${parameter(choices)}) => ${IS_SPENT} ? 0 : (${e()}))`,
    () => `((${n} = ${e()}, ${m}2 = () => ${n}) => (${n} = ${e()}, ${m}2()))(${e()})`,
    () =>
      `(function ${n}(${m}) { if (${IS_SPENT}) return typeof this; ${statement(choices, depth - 1)}\nreturn ${e()} })`,
    () => `\`t\${typeof ${e()}}\``,
    () => `${n}?.x`,
    () => `${n}(${e()})`,
    () => `(${n})(${e()})`,
    () => `${n}?.(${e()})`,
    () => `(${e()} ? ${e()} : ${e()})`,
    () => `(${n} = ${e()})`,
    () => `(${n} = () => ${IS_SPENT} ? 0 : (${e()})).name`,
    () => `(${n} = class { static x = ${e()} }).name`,
    () => `(${n} ||= function () { return typeof this })()`,
    () => `${n}++`,
    () => `new (class { ${n} = ${e()}; y() { return ${m} } })().y()`,
    () => `({ ${n}() { return ${n} } }).${n}()`,
    () => `(({ ${n} = ${e()} }) => ${n})({ ${m}: ${e()} })`,
    () => `(function () { return typeof this + arguments.length })(${e()})`,
    () => 'arguments.length',
    () => `new ${n}(${e()})`,
    () => `String(delete ${n}.y)`,
  ]
  return forms[choices.of(forms.length)]?.() ?? ''
}

function parameter(choices: Choices): string {
  const n = choices.name()
  const forms = [n, `${n} = ${choices.name()}`, `{ ${n} } = {}`, `...${n}`, `[${n}] = []`]
  return forms[choices.of(forms.length)] ?? n
}
