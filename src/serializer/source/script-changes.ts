// What a script does to what the variables at its top hold. Few ask for it, so that it is found out
// by a walk of its own, when it is asked for.

import type { Changes } from './function-site.js'
import type { LineIndex } from './line-index.js'
import type { Variable } from './scope.js'
import { scriptFactsOf } from './script-facts.js'
import { VariableChanges } from './variable-changes.js'

/** By the name of the variable; those of which nothing is to be said are left out. */
export function changesIn(
  source: string,
  isModule: boolean,
  lines: LineIndex,
): ReadonlyMap<string, Changes> {
  const { top } = scriptFactsOf(source, isModule, new VariableChanges()) ?? {}
  const found = new Map<string, Changes>()
  for (const [name, variable] of top?.variables ?? []) {
    const changes = changesOf(variable, lines)
    if (changes !== undefined) found.set(name, changes)
  }
  return found
}

function changesOf(variable: Variable, lines: LineIndex): Changes | undefined {
  const { changedAt, changedLevel, givenTo = [], parameters, scope, members } = variable
  const isFunction = parameters !== undefined && scope.isTop && !variable.isAssigned
  const isOpen = changedAt !== undefined || givenTo.length > 0
  if (!isOpen && !isFunction && members === undefined) return undefined
  return {
    own: changedAt === undefined ? undefined : { ...lines.placeOf(changedAt), level: changedLevel },
    givenTo: givenTo.map(({ at, ...call }) => ({ ...call, ...lines.placeOf(at) })),
    members: new Map([...(members ?? [])].map(([name, each]) => [name, changesOf(each, lines)])),
    parameters: isFunction
      ? parameters.map((each) =>
          each.map((held) => ({
            distance: held.distance,
            changes: changesOf(held.variable, lines),
          })),
        )
      : undefined,
  }
}
