// What V8's inspector says about an object: beside its properties those that only V8 knows.

import type { Debugger, Runtime } from 'node:inspector'
import type { FunctionLocation } from './function-view.js'

/** A private field or accessor. */
export interface PrivateProperty {
  readonly name: string
  /** Missing for accessors. */
  readonly value?: Runtime.RemoteObject
}

/** What V8 says about one object. */
export interface Properties extends Runtime.GetPropertiesReturnType {
  readonly privateProperties?: readonly PrivateProperty[]
}

/** A property that only V8 knows, such as `[[Scopes]]`; undefined if the object has none of it. */
export function internal(
  properties: Properties | undefined,
  wanted: string,
): Runtime.RemoteObject | undefined {
  return properties?.internalProperties?.find(({ name }) => name === wanted)?.value
}

/** Where V8 has the text of the function. */
export function locationIn(properties: Properties): FunctionLocation | undefined {
  const location = internal(properties, '[[FunctionLocation]]')?.value as
    Debugger.Location | undefined
  return (
    location && {
      scriptId: location.scriptId,
      line: location.lineNumber,
      column: location.columnNumber ?? 0,
    }
  )
}
