// Checks objects against the schemas that Kubernetes publishes for its API, as a server with strict
// validation does: fields that it does not know are errors. The schemas are in a Python package.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../../interop/program.js'

const PEER = join(ROOT, '.peers/kubernetes-schemas')

/** Why there are no schemas, or false. For `skip` of tests. */
export const NO_SCHEMAS: string | false = existsSync(join(PEER, 'made-of'))
  ? false
  : 'no schemas of Kubernetes: node scripts/peers.mjs'

/** The releases of Kubernetes whose schemas are used. */
export const RELEASES = ['v1.30.0', 'v1.37.0'] as const

interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly oneOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean | Schema
  readonly required?: readonly string[]
  readonly 'x-kubernetes-group-version-kind'?: readonly Kind[]
}

interface Kind {
  readonly group: string
  readonly version: string
  readonly kind: string
}

/** What is wrong with an object. */
export interface Offence {
  /** `spec.template.spec.containers[0].name`. */
  readonly path: string
  readonly isUnknownField: boolean
  readonly what: string
}

/** The schemas of one release. */
export class Schemas {
  readonly #definitions: Readonly<Record<string, Schema>>
  readonly #byKind = new Map<string, Schema>()

  constructor(release: (typeof RELEASES)[number]) {
    const lib = join(PEER, 'venv/lib')
    const [python = ''] = readdirSync(lib)
    const folder = 'kubernetes_validate/kubernetes-json-schema'
    const path = join(lib, python, 'site-packages', folder, `${release}-local-strict`)
    const text = readFileSync(join(path, '_definitions.json'), 'utf8')
    this.#definitions = (JSON.parse(text) as { $defs: Record<string, Schema> }).$defs
    for (const schema of Object.values(this.#definitions)) {
      const kinds = schema['x-kubernetes-group-version-kind'] ?? []
      const [only] = kinds
      if (only === undefined || kinds.length > 1) continue
      const version = only.group === '' ? only.version : `${only.group}/${only.version}`
      this.#byKind.set(`${version} ${only.kind}`, schema)
    }
  }

  /** What is wrong with an object; nothing: it is valid. */
  offencesOf(object: Readonly<Record<string, unknown>>): readonly Offence[] {
    const { apiVersion, kind } = object
    const schema = this.#byKind.get(`${String(apiVersion)} ${String(kind)}`)
    if (schema === undefined) {
      const what = `no kind ${String(kind)} in ${String(apiVersion)}`
      return [{ path: '', isUnknownField: false, what }]
    }
    return this.#check(object, schema, '')
  }

  #check(value: unknown, schema: Schema, path: string): readonly Offence[] {
    const { $ref, oneOf } = schema
    const offence = (what: string): readonly Offence[] => [{ path, isUnknownField: false, what }]
    if ($ref !== undefined) {
      const target = this.#definitions[$ref.slice($ref.lastIndexOf('/') + 1)]
      return target === undefined ? offence(`no schema ${$ref}`) : this.#check(value, target, path)
    }
    if (oneOf !== undefined) {
      const isOne = oneOf.some((each) => this.#check(value, each, path).length === 0)
      return isOne ? [] : offence(`of a wrong type: ${JSON.stringify(value)}`)
    }
    const type = typeOf(value)
    const types = [schema.type ?? type].flat()
    const isOfType = types.includes(type) || (type === 'integer' && types.includes('number'))
    if (!isOfType) return offence(`expected ${types.join(' or ')}, got ${type}`)
    if (schema.enum !== undefined && value !== null && !schema.enum.includes(value)) {
      return offence(`expected ${schema.enum.join(' or ')}, got ${JSON.stringify(value)}`)
    }
    if (Array.isArray(value)) {
      const { items = {} } = schema
      return value.flatMap((item, at) => this.#check(item, items, `${path}[${at}]`))
    }
    return type === 'object'
      ? this.#checkFields(value as Record<string, unknown>, schema, path)
      : []
  }

  #checkFields(value: Record<string, unknown>, schema: Schema, path: string): readonly Offence[] {
    const { properties = {}, additionalProperties: others = true, required = [] } = schema
    const at = (name: string): string => (path === '' ? name : `${path}.${name}`)
    const missing = required.filter((name) => value[name] === undefined || value[name] === null)
    const offences = missing.map((name): Offence => {
      return { path: at(name), isUnknownField: false, what: 'required value' }
    })
    for (const [name, field] of Object.entries(value)) {
      const known = Object.hasOwn(properties, name) ? properties[name] : others
      if (known === false) {
        offences.push({ path: at(name), isUnknownField: true, what: 'unknown field' })
      } else if (typeof known === 'object') {
        offences.push(...this.#check(field, known, at(name)))
      }
    }
    return offences
  }
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return Number.isInteger(value) ? 'integer' : typeof value
}
