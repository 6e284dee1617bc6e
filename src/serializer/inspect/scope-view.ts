// V8's list of the scopes around a function, made into ours.

import type { ScopeView } from './function-view.js'

/** An entry of the list. `object` is made for us, but of `with` and of the global scope. */
interface ScopeEntry {
  /** `'Module'`, `'Closure (name of the function)'`, `'With Block'`, … */
  readonly description: string
  readonly object: Readonly<Record<string, unknown>>
}

const TYPES: ReadonlyMap<string, ScopeView['type']> = new Map([
  ['Module', 'module'],
  ['Closure', 'closure'],
  ['Block', 'block'],
  ['Catch', 'catch'],
  ['Class', 'class'],
  ['Script', 'script'],
  ['With Block', 'with'],
  ['Global', 'global'],
])

const NOTHING: ScopeView['variables'] = Object.freeze(
  Object.create(null) as Record<string, unknown>,
)

/** The scopes in V8's order, which is from the inside out, without the global one. */
export function scopeViews(list: unknown): readonly ScopeView[] {
  const entries = list as ArrayLike<ScopeEntry>
  const views: ScopeView[] = []
  // It has no prototype, hence no iterator.
  for (let at = 0; at < entries.length; at += 1) {
    const entry = entries[at]
    const view = entry && scopeView(entry)
    if (view !== undefined && view.type !== 'global') views.push(view)
  }
  return views
}

function scopeView({ description, object }: ScopeEntry): ScopeView {
  const end = description.indexOf(' (')
  const type = TYPES.get(end < 0 ? description : description.slice(0, end)) ?? 'other'
  // The object of a `with` is the user's own: it may have getters, or be a proxy.
  return { type, variables: type === 'with' ? NOTHING : object }
}
