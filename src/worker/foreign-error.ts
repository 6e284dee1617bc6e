// What a Python client is told when one of its tasks ends up here: a pickled exception, because
// bytes that are not a pickle would end its agent and leave its futures waiting
// (docs/protocol.md#values).

const TEXT = 'this worker runs JavaScript functions only, not Python ones'

/** A pickle (protocol 0) of `RuntimeError(TEXT)`, which Python builds without any code of ours. */
export function pickledRuntimeError(): Uint8Array {
  return Buffer.from(`cbuiltins\nRuntimeError\n(S'${TEXT}'\ntR.`, 'latin1')
}
