// What a Python client is told when one of its tasks ends up here: a pickled exception, because
// bytes that are not a pickle would end its agent and leave its futures waiting
// (docs/protocol.md#values).

/** What it says. */
export const FOREIGN_TEXT = 'this worker runs JavaScript functions only, not Python ones'

/** A pickle (protocol 0) of a `RuntimeError` that says so; Python needs no code of ours for it. */
export function pickledRuntimeError(): Uint8Array {
  return Buffer.from(`cbuiltins\nRuntimeError\n(S'${FOREIGN_TEXT}'\ntR.`, 'latin1')
}
