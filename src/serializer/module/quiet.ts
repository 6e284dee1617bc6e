// Node warns when it is asked to load modules in ways that it calls experimental: nothing that
// users of ours could act on, as it is us who ask.

/** What such warnings are about. */
const OURS = /\bES Module\b|JSON modules|USE_MAIN_CONTEXT_DEFAULT_LOADER/

/** Runs the work without warnings of that kind; all others are given as ever. */
export function quietly<T>(work: () => T): T {
  const emitWarning: unknown = Reflect.get(process, 'emitWarning')
  const emitOthers = (...parameters: unknown[]): void => {
    if (isOurs(parameters)) return
    Reflect.apply(emitWarning as (...all: unknown[]) => void, process, parameters)
  }
  Reflect.set(process, 'emitWarning', emitOthers)
  try {
    return work()
  } finally {
    // The work may have replaced it for good.
    if (Reflect.get(process, 'emitWarning') === emitOthers) {
      Reflect.set(process, 'emitWarning', emitWarning)
    }
  }
}

function isOurs([warning, kind]: readonly unknown[]): boolean {
  const type: unknown =
    typeof kind === 'object' && kind !== null ? (kind as { type?: unknown }).type : kind
  return type === 'ExperimentalWarning' && OURS.test(String(warning))
}
