// Messages as real 1.9.9 processes encode them, and their content. Data, without checks: for the
// tests here, and for other implementations of docs/protocol.md to compare with.

import { createHash } from 'node:crypto'
import { NO_BYTES } from '#src/base/bytes.js'
import { identity, schedulerId, taskId, type ObjectId } from '#src/base/ids.js'
import {
  type Message,
  type ObjectContent,
  PLAIN_HEARTBEAT,
  PLAIN_RESULT,
  PLAIN_TASK,
  type ProcessorStatus,
  type Resource,
  type Task,
} from '#src/wire/message.js'
import { objectIdFrom } from '#src/wire/object-content.js'

/** A message and its bytes. */
export interface GoldenMessage {
  readonly name: string
  readonly bytes: Buffer
  readonly message: Message
}

const NONE = NO_BYTES
const ID = taskId(latin1Range(16))
const CLIENT = identity('12345|Client|00112233445566778899aabbccddeeff')
const WORKER = identity('222|host|ffeeddccbbaa99887766554433221100')
const AGENT: Resource = { cpu: 992, rss: 0x1122334455 }
const PROCESSOR: ProcessorStatus = {
  pid: 4321,
  initialized: true,
  hasTask: false,
  suspended: true,
  resource: { cpu: 10, rss: 2048 },
}
const NO_OBJECTS: ObjectContent = {
  objectIds: [],
  objectTypes: [],
  objectNames: [],
  objectBytes: [],
}
const TASK: Task = {
  kind: 'task',
  taskId: ID,
  source: identity(''),
  metadata: NONE,
  funcObjectId: '' as ObjectId,
  functionArgs: [],
  ...PLAIN_TASK,
}

/** The id of the client's object with this content key. */
function objectIdOf(content: string): ObjectId {
  return objectIdFrom(md5(CLIENT).slice(0, 8), md5(content))
}

function md5(text: string): string {
  return createHash('md5').update(text, 'latin1').digest('binary')
}

function latin1Range(length: number): string {
  return String.fromCharCode(...Array.from({ length }, (_, index) => index))
}

function latin1(text: string): Buffer {
  return Buffer.from(text, 'latin1')
}

/** Bytes from hex digits; all other characters are layout. */
function hex(text: string): Buffer {
  return Buffer.from(text.replaceAll(/\s/g, ''), 'hex')
}

/** Every kind of message, most kinds once. */
export const GOLDEN_MESSAGES: readonly GoldenMessage[] = [
  {
    name: 'Task',
    bytes: hex(`
        000000001a000000 0000000001000100 0000000000000000 0000000000000500
        1100000082000000 150000006a010000 290000002a000000 29000000c2000000
        3100000017000000 0001020304050607 08090a0b0c0d0e0f 31323334357c436c
        69656e747c303031 3132323333343435 3536363737383839 3961616262636364
        6465656666000000 0000000000000000 23ad880e034845a7 8fa14cdd754f91cc
        6554c9e71929cce7 0400000001000100 0100000000000000 01000000c2000000
        23ad880e034845a7 0cc175b9c0f1b6a8 31c399e269772661
      `),
    message: {
      ...TASK,
      metadata: hex('0000000000'),
      funcObjectId: objectIdOf('f'),
      source: CLIENT,
      functionArgs: [{ type: 'objectID', data: latin1(objectIdOf('a')) }],
    },
  },
  {
    name: 'Task-noargs-emptymeta',
    bytes: hex(`
        000000000b000000 0000000001000100 0000000000000000 0000000000000500
        1100000082000000 1500000002000000 1100000002000000 0d00000002000000
        0900000007000000 0001020304050607 08090a0b0c0d0e0f 0000000001000100
      `),
    message: TASK,
  },
  {
    name: 'TaskCancel',
    bytes: hex(`
        0000000008000000 0000000001000100 0100000000000000 0000000000000200
        0500000082000000 0800000001000000 0001020304050607 08090a0b0c0d0e0f
        0000000000000000
      `),
    message: {
      kind: 'taskCancel',
      taskId: ID,
      count: 0,
      flags: { force: false, retrieveTaskObject: false },
    },
  },
  {
    name: 'TaskCancel-force',
    bytes: hex(`
        0000000008000000 0000000001000100 0100000000000000 0000000000000200
        0500000082000000 0800000001000000 0001020304050607 08090a0b0c0d0e0f
        0100000000000000
      `),
    message: {
      kind: 'taskCancel',
      taskId: ID,
      count: 0,
      flags: { force: true, retrieveTaskObject: false },
    },
  },
  {
    name: 'TaskResult-success',
    bytes: hex(`
        000000000f000000 0000000001000100 0200000000000000 0000000001000300
        0000000000000000 0900000082000000 0d00000082000000 110000000e000000
        0001020304050607 08090a0b0c0d0e0f 3fc0000000000000 000010003e800000
        01000000c2000000 23ad880e034845a7 4b43b0aee35624cd 95b910189b3dc231
      `),
    message: {
      kind: 'taskResult',
      taskId: ID,
      status: 'success',
      metadata: hex('3fc0000000000000000010003e800000'),
      results: [objectIdOf('r')],
      ...PLAIN_RESULT,
    },
  },
  {
    name: 'TaskResult-canceled',
    bytes: hex(`
        0000000009000000 0000000001000100 0200000000000000 0000000001000300
        0200000000000000 0900000082000000 0d00000002000000 0900000006000000
        0001020304050607 08090a0b0c0d0e0f
      `),
    message: {
      kind: 'taskResult',
      taskId: ID,
      status: 'canceled',
      metadata: NONE,
      results: [],
      ...PLAIN_RESULT,
    },
  },
  {
    name: 'GraphTask',
    bytes: hex(`
        0000000028000000 0000000001000100 0300000000000000 0000000000000400
        0d00000082000000 110000006a010000 250000000e000000 2d0000002f000000
        0001020304050607 08090a0b0c0d0e0f 31323334357c436c 69656e747c303031
        3132323333343435 3536363737383839 3961616262636364 6465656666000000
        0100000082000000 5454545454545454 5454545454545454 0400000000000500
        1100000082000000 150000006a010000 2900000002000000 25000000c2000000
        2d00000017000000 5454545454545454 5454545454545454 31323334357c436c
        69656e747c303031 3132323333343435 3536363737383839 3961616262636364
        6465656666000000 23ad880e034845a7 8fa14cdd754f91cc 6554c9e71929cce7
        0400000001000100 0000000000000000 0100000082000000 5555555555555555
        5555555555555555
      `),
    message: {
      kind: 'graphTask',
      taskId: ID,
      source: CLIENT,
      targets: [taskId('T'.repeat(16))],
      graph: [
        {
          ...TASK,
          taskId: taskId('T'.repeat(16)),
          source: CLIENT,
          funcObjectId: objectIdOf('f'),
          functionArgs: [{ type: 'task', data: latin1('U'.repeat(16)) }],
        },
      ],
      isOpen: false,
    },
  },
  {
    name: 'GraphTaskCancel',
    bytes: hex(`
        0000000006000000 0000000001000100 0400000000000000 0000000000000100
        0100000082000000 0001020304050607 08090a0b0c0d0e0f
      `),
    message: { kind: 'graphTaskCancel', taskId: ID },
  },
  {
    name: 'ObjectInstruction-create',
    bytes: hex(`
        0000000026000000 0000000001000100 0500000000000000 0000000001000200
        0000000000000000 050000006a010000 1800000000000400 31323334357c436c
        69656e747c303031 3132323333343435 3536363737383839 3961616262636364
        6465656666000000 0d00000016000000 2900000013000000 2900000016000000
        3900000016000000 05000000c2000000 0d000000c2000000 23ad880e034845a7
        84f6fb7cd5cd53b5 679489a29396448f 23ad880e034845a7 8fa14cdd754f91cc
        6554c9e71929cce7 0000010000000000 0500000052000000 0900000012000000
        73657269616c697a 6572000000000000 666e000000000000 050000000e000000
        0900000016000000 010000001a000000 5345520000000000 0500000012000000
        0500000012000000 6162000000000000 6364000000000000
      `),
    message: {
      kind: 'objectInstruction',
      instructionType: 'create',
      objectUser: CLIENT,
      objectContent: {
        objectIds: [objectIdOf('serializer'), objectIdOf('f')],
        objectTypes: ['serializer', 'object'],
        objectNames: [latin1('serializer'), latin1('fn')],
        objectBytes: [[latin1('SER')], [latin1('ab'), latin1('cd')]],
      },
    },
  },
  {
    name: 'ObjectInstruction-delete',
    bytes: hex(`
        0000000014000000 0000000001000100 0500000000000000 0000000001000200
        0100000000000000 050000006a010000 1800000000000400 31323334357c436c
        69656e747c303031 3132323333343435 3536363737383839 3961616262636364
        6465656666000000 0d0000000e000000 1900000003000000 1500000006000000
        1100000006000000 01000000c2000000 23ad880e034845a7 8fa14cdd754f91cc
        6554c9e71929cce7
      `),
    message: {
      kind: 'objectInstruction',
      instructionType: 'delete',
      objectUser: CLIENT,
      objectContent: { ...NO_OBJECTS, objectIds: [objectIdOf('f')] },
    },
  },
  {
    name: 'ObjectInstruction-clear',
    bytes: hex(`
        0000000010000000 0000000001000100 0500000000000000 0000000001000200
        0200000000000000 050000006a010000 1800000000000400 31323334357c436c
        69656e747c303031 3132323333343435 3536363737383839 3961616262636364
        6465656666000000 0d00000006000000 0900000003000000 0500000006000000
        0100000006000000
      `),
    message: {
      kind: 'objectInstruction',
      instructionType: 'clear',
      objectUser: CLIENT,
      objectContent: NO_OBJECTS,
    },
  },
  {
    name: 'ObjectRequest',
    bytes: hex(`
        0000000009000000 0000000001000100 0600000000000000 0000000001000100
        0000000000000000 010000000e000000 01000000c2000000 23ad880e034845a7
        8fa14cdd754f91cc 6554c9e71929cce7
      `),
    message: { kind: 'objectRequest', requestType: 'get', objectIds: [objectIdOf('f')] },
  },
  {
    name: 'ObjectResponse',
    bytes: hex(`
        0000000013000000 0000000001000100 0700000000000000 0000000001000100
        0000000000000000 0000000000000400 0d0000000e000000 190000000b000000
        190000000e000000 1d0000000e000000 01000000c2000000 23ad880e034845a7
        8fa14cdd754f91cc 6554c9e71929cce7 0100000000000000 0100000012000000
        666e000000000000 010000000e000000 010000001a000000 6162630000000000
      `),
    message: {
      kind: 'objectResponse',
      responseType: 'content',
      objectContent: {
        objectIds: [objectIdOf('f')],
        objectTypes: ['object'],
        objectNames: [latin1('fn')],
        objectBytes: [[latin1('abc')]],
      },
    },
  },
  {
    name: 'ObjectResponse-missing',
    bytes: hex(`
        000000000d000000 0000000001000100 0700000000000000 0000000001000100
        0000000000000000 0000000000000400 0d0000000e000000 1900000003000000
        1500000006000000 1100000006000000 01000000c2000000 23ad880e034845a7
        8fa14cdd754f91cc 6554c9e71929cce7
      `),
    message: {
      kind: 'objectResponse',
      responseType: 'content',
      objectContent: { ...NO_OBJECTS, objectIds: [objectIdOf('f')] },
    },
  },
  {
    name: 'ClientHeartbeat',
    bytes: hex(`
        0000000007000000 0000000001000100 0800000000000000 0000000001000100
        0903000000000000 0000000002000000 e003000000000000 5544332211000000
      `),
    message: {
      kind: 'clientHeartbeat',
      resource: AGENT,
      latencyUS: 777,
      features: 0,
      runtime: '',
      worker: identity(''),
      wantsReport: false,
      wantsPeers: false,
      info: [],
    },
  },
  {
    name: 'ClientHeartbeatEcho',
    bytes: hex(`
        0000000003000000 0000000001000100 0900000000000000 fcffffff00000000
      `),
    message: {
      kind: 'clientHeartbeatEcho',
      schedulerId: schedulerId(''),
      features: 0,
      reports: [],
      waiting: [],
    },
  },
  {
    name: 'WorkerHeartbeat',
    bytes: hex(`
        000000000f000000 0000000001000100 0a00000000000000 0000000003000200
        0000000002000000 03000000f4010000 0100000000000000 0400000002000000
        0900000017000000 e003000000000000 5544332211000000 0400000001000100
        e110000005000000 0000000002000000 0a00000000000000 0008000000000000
      `),
    message: {
      kind: 'workerHeartbeat',
      agent: AGENT,
      rssFree: 2 ** 33,
      queuedTasks: 3,
      latencyUS: 500,
      taskLock: true,
      processors: [PROCESSOR],
      features: 0,
      runtime: '',
      ...PLAIN_HEARTBEAT,
    },
  },
  {
    name: 'WorkerHeartbeatEcho',
    bytes: hex(`
        0000000003000000 0000000001000100 0b00000000000000 fcffffff00000000
      `),
    message: { kind: 'workerHeartbeatEcho', schedulerId: schedulerId(''), features: 0 },
  },
  {
    name: 'DisconnectRequest',
    bytes: hex(`
        000000000a000000 0000000001000100 0c00000000000000 0000000000000100
        010000004a010000 3232327c686f7374 7c66666565646463 6362626161393938
        3837373636353534 3433333232313130 3000000000000000
      `),
    message: { kind: 'disconnectRequest', worker: WORKER },
  },
  {
    name: 'DisconnectResponse',
    bytes: hex(`
        000000000a000000 0000000001000100 0d00000000000000 0000000000000100
        010000004a010000 3232327c686f7374 7c66666565646463 6362626161393938
        3837373636353534 3433333232313130 3000000000000000
      `),
    message: { kind: 'disconnectResponse', worker: WORKER },
  },
  {
    name: 'StateClient',
    bytes: hex(`
        0000000003000000 0000000001000100 0e00000000000000 fcffffff00000000
      `),
    message: { kind: 'stateClient' },
  },
  {
    name: 'StateObject',
    bytes: hex(`
        0000000003000000 0000000001000100 0f00000000000000 fcffffff00000000
      `),
    message: { kind: 'stateObject' },
  },
  {
    name: 'StateBalanceAdvice',
    bytes: hex(`
        000000000e000000 0000000001000100 1000000000000000 0000000000000200
        050000004a010000 190000000e000000 3232327c686f7374 7c66666565646463
        6362626161393938 3837373636353534 3433333232313130 3000000000000000
        0100000082000000 0001020304050607 08090a0b0c0d0e0f
      `),
    message: { kind: 'stateBalanceAdvice', workerId: WORKER, taskIds: [ID] },
  },
  {
    name: 'StateScheduler',
    bytes: hex(`
        000000003d000000 0000000001000100 1100000000000000 0000000001000600
        0500000000000000 1400000000000200 3c00000002000000 4000000000000100
        6400000001000000 6400000003000000 6c00000000000100 0500000017000000
        1100000017000000 0400000001000100 0100000000000000 010000002a000000
        5461736b00000000 0400000001000100 0200000000000000 010000005a000000
        5461736b52657375 6c74000000000000 e003000000000000 5544332211000000
        0100000017000000 0400000001000100 0100000000000000 010000006a010000
        31323334357c436c 69656e747c303031 3132323333343435 3536363737383839
        3961616262636364 6465656666000000 0900000000000000 0100000002000000
        0300000004000000 0500000006000000 0100000047000000 0400000004000400
        0700000000000000 e803000001000000 0200000003ff0000 2c00000000000000
        0d0000004a010000 2000000002000000 2500000022000000 2500000017000000
        3232327c686f7374 7c66666565646463 6362626161393938 3837373636353534
        3433333232313130 3000000000000000 e003000000000000 5544332211000000
        3130310000000000 0400000001000100 e110000005000000 0000000002000000
        0a00000000000000 0008000000000000
      `),
    message: {
      kind: 'stateScheduler',
      binder: {
        received: [{ client: 'Task', number: 1 }],
        sent: [{ client: 'TaskResult', number: 2 }],
      },
      scheduler: AGENT,
      rssFree: 5,
      clientManager: { clientToNumOfTask: [{ client: CLIENT, numTask: 1 }] },
      objectManager: { numberOfObjects: 9 },
      taskManager: {
        unassigned: 1,
        running: 2,
        success: 3,
        failed: 4,
        canceled: 5,
        notFound: 6,
      },
      workerManager: {
        workers: [
          {
            workerId: WORKER,
            agent: AGENT,
            rssFree: 7,
            free: 1000,
            sent: 1,
            queued: 2,
            suspended: 3,
            lagUS: 44,
            lastS: 255,
            itl: '101',
            processorStatuses: [PROCESSOR],
          },
        ],
      },
    },
  },
  {
    name: 'StateWorker',
    bytes: hex(`
        000000000d000000 0000000001000100 1200000000000000 0000000000000200
        050000004a010000 190000004a000000 3232327c686f7374 7c66666565646463
        6362626161393938 3837373636353534 3433333232313130 3000000000000000
        636f6e6e65637465 6400000000000000
      `),
    message: { kind: 'stateWorker', workerId: WORKER, message: latin1('connected') },
  },
  {
    name: 'StateTask',
    bytes: hex(`
        0000000011000000 0000000001000100 1300000000000000 0000000001000400
        0700000000000000 0d00000082000000 1100000012000000 110000004a010000
        2500000002000000 0001020304050607 08090a0b0c0d0e0f 666e000000000000
        3232327c686f7374 7c66666565646463 6362626161393938 3837373636353534
        3433333232313130 3000000000000000
      `),
    message: {
      kind: 'stateTask',
      taskId: ID,
      functionName: latin1('fn'),
      status: 'running',
      worker: WORKER,
      metadata: NONE,
    },
  },
  {
    name: 'StateGraphTask',
    bytes: hex(`
        000000000e000000 0000000001000100 1400000000000000 0000000001000300
        0100000000000000 0900000082000000 0d00000082000000 110000000e000000
        4747474747474747 4747474747474747 0001020304050607 08090a0b0c0d0e0f
        0100000082000000 5050505050505050 5050505050505050
      `),
    message: {
      kind: 'stateGraphTask',
      graphTaskId: taskId('G'.repeat(16)),
      taskId: ID,
      nodeTaskType: 'target',
      parentTaskIds: [taskId('P'.repeat(16))],
    },
  },
  {
    name: 'ClientDisconnect-disconnect',
    bytes: hex(`
        0000000004000000 0000000001000100 1500000000000000 0000000001000000
        0000000000000000
      `),
    message: { kind: 'clientDisconnect', disconnectType: 'disconnect' },
  },
  {
    name: 'ClientDisconnect-shutdown',
    bytes: hex(`
        0000000004000000 0000000001000100 1500000000000000 0000000001000000
        0100000000000000
      `),
    message: { kind: 'clientDisconnect', disconnectType: 'shutdown' },
  },
  {
    name: 'ClientShutdownResponse',
    bytes: hex(`
        0000000004000000 0000000001000100 1600000000000000 0000000001000000
        0100000000000000
      `),
    message: { kind: 'clientShutdownResponse', accepted: true },
  },
  {
    name: 'ProcessorInitialized',
    bytes: hex(`
        0000000003000000 0000000001000100 1700000000000000 fcffffff00000000
      `),
    message: { kind: 'processorInitialized' },
  },
]

/**
 * An object in the layout of a writer whose first segment was full: its 20,000 bytes are alone
 * in a second segment, behind a far pointer.
 */
export function goldenTwoSegments(): GoldenMessage {
  const head = hex(`
        0100000019000000 c509000000000000 0000000001000100 0500000000000000
        0000000001000200 0000000000000000 050000006a010000 1800000000000400
        31323334357c436c 69656e747c303031 3132323333343435 3536363737383839
        3961616262636364 6465656666000000 0d0000000e000000 190000000b000000
        190000000e000000 1d0000000e000000 01000000c2000000 23ad880e034845a7
        8fa14cdd754f91cc 6554c9e71929cce7 0100000000000000 010000001a000000
        6269670000000000 010000000e000000 0200000001000000
        0100000002710200
  `)
  const content = Buffer.alloc(20_000, 'x')
  return {
    name: 'ObjectInstruction-create in two segments',
    bytes: Buffer.concat([head, content]),
    message: {
      kind: 'objectInstruction',
      instructionType: 'create',
      objectUser: CLIENT,
      objectContent: {
        objectIds: [objectIdOf('f')],
        objectTypes: ['object'],
        objectNames: [latin1('big')],
        objectBytes: [[content]],
      },
    },
  }
}
