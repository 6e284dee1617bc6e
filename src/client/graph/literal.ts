// Values that would mean something else inside a graph: a string argument is a key, an array that
// begins with a function is a call.

/** A value that stands for itself in a graph. Made by `literal`. */
export class Literal<T> {
  /** What it stands for. */
  readonly value: T

  /** These are made by `literal`. @internal */
  constructor(value: T) {
    this.value = value
  }
}

/**
 * `value` as it is, as an argument or as a node of a graph: `[shout, literal('text')]` passes the
 * text, where `[shout, 'text']` passes the result of the node `text`. It means nothing elsewhere.
 */
export function literal<T>(value: T): Literal<T> {
  return new Literal(value)
}
