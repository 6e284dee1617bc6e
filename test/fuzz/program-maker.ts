// Random programs: the text of a file of variables, functions and classes, ending in a function
// that uses them. Between tokens it has the white space that formatters, people and minifiers
// write.

import type { Random } from '../simulation/random.js'

/** The names that a program has declared so far, by their possible uses. */
interface Names {
  readonly values: string[]
  readonly variables: string[]
  readonly classes: string[]
  readonly calls: string[]
  count: number
}

/** A program. `~` in the pieces is a place where white space is optional. */
export function makeProgram(random: Random): string {
  const names: Names = { values: [], variables: [], classes: [], calls: [], count: 0 }
  const lines = Array.from({ length: random.whole(2, 7) }, () =>
    random.pick(STATEMENTS)(random, names),
  )
  const uses = [...names.values, ...names.variables, ...names.calls]
  const text = `${lines.join(';')};return async()=>[${uses.join(',~')}]`
  const gaps = random.chance(0.5) ? [''] : ['', ' ', '\n', '/*]}"*/', '  ']
  return text.replaceAll('~', () => random.pick(gaps))
}

type Maker = (random: Random, names: Names) => string

function fresh(random: Random, names: Names): string {
  names.count += 1
  return `${random.pick(['a', '$', '_', 'ñ', '𝒳', 'of', 'get', 'async', 'this_', 'Parent'])}${names.count}`
}

/** An expression that has the same value on both sides. */
function expression(random: Random, names: Names, depth = 0): string {
  const inner = (): string => expression(random, names, depth + 1)
  if (depth > 2 || random.chance(0.4)) {
    const known = [...names.values, ...names.variables]
    return known.length > 0 && random.chance(0.6)
      ? random.pick(known)
      : random.pick(['1', '"s"', '`t`', 'null', '-0', '2n', '/r/g.source', 'void~(0)', 'typeof~[]'])
  }
  const makers: readonly (() => string)[] = [
    () => `[${inner()},~...[${inner()}]]`,
    () => `{~a:${inner()},~["b"+1]:${inner()}}.a`.replace(/^/, '(').replace('}.a', '}).a'),
    () => `((x,{y=${inner()}}={},...z)=>~[x,y,z])(${inner()})`,
    () => `(${inner()}??${inner()})`,
    () => `\`\${${inner()}}\``,
    () => `(({p:q})=>q)({p:${inner()}})`,
    () =>
      `(function(){L:for(const i of[1,2]){for(;;){if(i)continue L;break}}return typeof ${inner()}})()`,
    () => `[...(function*(){yield*[${inner()}]})()]`,
    () => `(await(async()=>${inner()})())`,
    () => `(()=>{try{throw[${inner()}]}catch([e]){return e}finally{}})()`,
  ]
  const made = random.pick(makers)()
  return made
}

function synchronous(random: Random, names: Names): string {
  for (;;) {
    const text = expression(random, names)
    if (!text.includes('await')) return text
  }
}

function key(random: Random, names: Names): string {
  const constants = names.values.filter((name) => name.startsWith('k'))
  return random.pick([
    'm',
    '"a b"',
    '7',
    '[Symbol.iterator]',
    '["c"+1]',
    ...constants.map((name) => `[~${name}]`),
  ])
}

const STATEMENTS: readonly Maker[] = [
  (random, names) => {
    const name = fresh(random, names)
    const text = `const ${name}=${synchronous(random, names)}`
    names.values.push(name)
    return text
  },
  (random, names) => {
    names.count += 1
    const name = `k${names.count}`
    names.values.push(name)
    return `const ${name}=${random.pick(['"key"', '"a"', '3', 'Symbol.for("f")', '"x"+"y"'])}`
  },
  (random, names) => {
    const name = fresh(random, names)
    const change = fresh(random, names)
    const text = random.pick([
      `let ${name}=1;function ${change}(){~${name}++;return[${name},typeof~(${name})]}`,
      `let ${name}=()=>1;const ${change}=()=>{~${name}=()=>2;return[${name}(),${name}.name]}`,
      `let ${name};const ${change}=()=>{~[${name}=3]=[];({${name}}={${name}:[${name}]});return ${name}}`,
    ])
    names.calls.push(`${change}()`)
    return text
  },
  (random, names) => {
    const [name, inside] = [fresh(random, names), key(random, names)]
    const read = inside.startsWith('[') ? inside : `[${inside === 'm' ? '"m"' : inside}]`
    const body = `{return[${synchronous(random, names)}]}`
    const [head, call] = random.pick([
      [`${inside}()${body}`, `${name}${read}()`],
      [`get~${gapFor(inside)}${inside}()${body}`, `${name}${read}`],
      [`*~${inside}(){yield*[1]${body.replace('{', ';')}`, `[...${name}${read}()]`],
      [`async~${gapFor(inside)}${inside}()${body}`, `await~ ${name}${read}()`],
      [`async~*~${inside}(){yield 1}`, `(await ${name}${read}().next()).value`],
    ] as const)
    names.calls.push(call)
    return `const ${name}={~${head},~z:1}`
  },
  (random, names) => classText(random, names),
  (random, names) => classText(random, names),
  (random, names) => {
    const name = fresh(random, names)
    names.calls.push(`${name}(5)`)
    return `function ${name}(n){return n<2?[${synchronous(random, names)}]:[n,${name}(n-1)]}`
  },
  (random, names) => {
    const name = fresh(random, names)
    names.calls.push(`${name}(3)`, `${name}.call({v:4},2)`)
    return `const ${name}=(v=>function(w){return[v+w,this~&&this.v]})(${random.int(9)})`
  },
  (random, names) => {
    const name = fresh(random, names)
    names.calls.push(`${name}(1,2)`)
    return `function ${name}(){const f=()=>arguments[0]+arguments.length;return[f(),new.target]}`
  },
]

/** Before a name a space is needed, before a bracket or a string none. */
function gapFor(name: string): string {
  return /^[["]/.test(name) ? '' : ' '
}

function classText(random: Random, names: Names): string {
  const name = fresh(random, names)
  const parent = heritage(random, names)
  const members: string[] = []
  const reads: string[] = []
  for (let left = random.int(6); left > 0; left -= 1) {
    const [text, read] = member(random, names, members.length)
    members.push(text)
    reads.push(read)
  }
  names.classes.push(name)
  for (const read of reads) names.calls.push(read.replaceAll('@', name))
  names.calls.push(`Object.getOwnPropertyNames(${name}).sort()`, `${name}.name`)
  if (parent !== '') names.calls.push(`Object.getPrototypeOf(${name}).name`)
  return `class ${name}${parent}{~${members.join(';')}}`
}

function heritage(random: Random, names: Names): string {
  const [known] = names.classes.length > 0 ? [random.pick(names.classes)] : []
  if (random.chance(0.4)) return ''
  if (known === undefined) {
    return random.pick([
      ' extends~ class{inherited=1}',
      ' extends(class Inner{inherited=2})',
      ' extends~ Array',
    ])
  }
  return random.pick([
    ` extends ${known}`,
    ` extends(${known})`,
    ` extends[${known}][0]`,
    ` extends(B=>B)(${known})`,
    ` extends(0,(B=>class Mixed extends B{mixed=1}))(${known})`,
  ])
}

/** A member, and how it is read; `@` is the class. */
function member(random: Random, names: Names, index: number): readonly [string, string] {
  const own = `m${index}`
  const computed = key(random, names)
  const read = computed.startsWith('[') ? computed : `[${computed === 'm' ? '"m"' : computed}]`
  const value = synchronous(random, names)
  return random.pick([
    [`${own}=${value}`, `new @().${own}`],
    [`static ${own}=${value}`, `@.${own}`],
    [`#p${index}=${value};${own}(){return this.#p${index}}`, `new @().${own}()`],
    [`static~ #s${index}=${value};static ${own}(){return @.#s${index}}`, `@.${own}()`],
    [`get~ ${own}(){return[${value}]}`, `new @().${own}`],
    [`static{this.${own}=${value}}`, `@.${own}`],
    [`static async~*~${own}(){yield~[${value}]}`, `(await @.${own}().next()).value`],
    [`${computed}(){return[${value}]}`, `new @()${read}()`],
    [`static ${computed}(){return[${value}]}`, `@${read}()`],
    [`async~${gapFor(computed)}${computed}(){return ${value}}`, `await new @()${read}()`],
    [`${own}(){return typeof super.toString}`, `new @().${own}()`],
  ] as const)
}
