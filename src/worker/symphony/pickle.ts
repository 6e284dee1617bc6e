// What services for Python tasks read and Python clients get, written without loading anything:
// pickles that are built around pieces which the client has pickled, and pickled errors.

import { asBuffer } from '../../base/bytes.js'
import { MissingObjectError, ProcessorDiedError, TaskTimeoutError } from '../../base/errors.js'

/** How a task of a Python client is called. */
export interface PythonCall {
  /** The source of service/symphony_call.py, which services keep as a module, */
  readonly source: string
  /** and its name: another source has another one. */
  readonly module: string
  /** The pickled function. */
  readonly fn: Uint8Array
  /** The pickled arguments. */
  readonly args: readonly Uint8Array[]
  /** `Task.metadata`. */
  readonly flags: Uint8Array
}

/** The serializer object of a client without a serializer of its own. */
const DEFAULT_SERIALIZER = Buffer.from(
  '8005953d000000000000008c207363616c65722e636c69656e742e7365726961' +
    '6c697a65722e64656661756c74948c1144656661756c7453657269616c697a65' +
    '729493942981942e',
  'hex',
)

/** Whether objects of the client with this serializer object are pickles. */
export function isDefaultSerializer(content: Uint8Array): boolean {
  return DEFAULT_SERIALIZER.equals(content)
}

// The opcodes of pickle protocol 4, as far as they are needed.
const BEGIN = bytes(0x80, 4)
const MARK = bytes(0x28)
const TUPLE = bytes(0x74)
const TUPLE1 = bytes(0x85)
const TUPLE2 = bytes(0x86)
const TUPLE3 = bytes(0x87)
const EMPTY_DICT = bytes(0x7d)
const TRUE = bytes(0x88)
const FALSE = bytes(0x89)
const SET = bytes(0x73)
const CALL = bytes(0x52)
const POP = bytes(0x30)
const STOP = bytes(0x2e)

/** The memo has these. */
const NAMES = 0
const LOADS = 1

/** What occurs in the pickle of anything that uses Python Scaler. */
const SCALER = Buffer.from('scaler')

/** Makes `bind` a name. Compiling the source takes a millisecond, so it is done once. */
const DEFINE = `import sys
if module not in sys.modules:
    made = type(sys)(module)
    exec(source, made.__dict__)
    sys.modules[module] = made
bind = sys.modules[module].bind`

/**
 * The pieces of a pickle of the tuple `(function, *arguments)`. Loading it calls
 * `cloudpickle.loads` for each piece. The function is wrapped by `bind` of the source.
 */
export function pickledCall({
  source,
  module,
  fn,
  args,
  flags,
}: PythonCall): readonly Uint8Array[] {
  const maySubmit = [fn, ...args].some((piece) => asBuffer(piece).includes(SCALER))
  const load = (piece: Uint8Array): readonly Uint8Array[] => [
    recall(LOADS),
    ...byteString(piece),
    TUPLE1,
    CALL,
  ]
  const items = [text('source'), text(source), SET, text('module'), text(module), SET]
  const names = [EMPTY_DICT, remember(NAMES), ...items, POP]
  const define = [global('builtins', 'exec'), text(DEFINE), recall(NAMES), TUPLE2, CALL, POP]
  const loads = [global('cloudpickle', 'loads'), remember(LOADS), POP]
  const bind = [global('operator', 'getitem'), recall(NAMES), text('bind'), TUPLE2, CALL]
  const bound = [...load(fn), ...byteString(flags), maySubmit ? TRUE : FALSE, TUPLE3, CALL]
  const tuple = [MARK, ...bind, ...bound, ...args.flatMap(load), TUPLE]
  return [BEGIN, ...names, ...define, ...loads, ...tuple, STOP]
}

/** The class of Python in which clients get an error of ours. */
function classOf(error: Error): readonly [module: string, name: string] {
  const own = 'scaler.utility.exceptions'
  if (error instanceof ProcessorDiedError) return [own, 'ProcessorDiedError']
  if (error instanceof MissingObjectError) return [own, 'MissingObjects']
  if (error instanceof TaskTimeoutError) return ['builtins', 'TimeoutError']
  return ['builtins', 'RuntimeError']
}

/** An error of ours as a pickled exception. */
export function pickledError(error: Error): Uint8Array {
  const [module, name] = classOf(error)
  return Buffer.concat([BEGIN, global(module, name), text(error.message), TUPLE1, CALL, STOP])
}

function bytes(...codes: readonly number[]): Buffer {
  return Buffer.from(codes)
}

function remember(index: number): Buffer {
  return bytes(0x71, index)
}

function recall(index: number): Buffer {
  return bytes(0x68, index)
}

function global(module: string, name: string): Buffer {
  return Buffer.concat([text(module), text(name), bytes(0x93)])
}

function text(value: string): Buffer {
  // A lone surrogate, which Python would refuse, becomes U+FFFD.
  const content = Buffer.from(value)
  return Buffer.concat([withLength(0x58, content.byteLength), content])
}

function byteString(content: Uint8Array): readonly Uint8Array[] {
  return [withLength(0x42, content.byteLength), content]
}

function withLength(code: number, length: number): Buffer {
  const head = Buffer.allocUnsafe(5)
  head[0] = code
  head.writeUInt32LE(length, 1)
  return head
}
