// The program of a processor process: runs the functions of users and nothing else. Started by
// processor-host.ts, which leads its pipes to the descriptors of link.ts.
//
// What user code leaves behind is treated as Node does: an exception in a callback, or a rejection
// that nobody handles, ends the process, and with it whatever task runs at that moment.

import { Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
import { serveClients } from '../serializer/process-serializer.js'
import { encode } from '../wire/message.js'
import { encodeExitNote } from './exit-note.js'
import { FrameParser, INBOX_FD, KIND_EXIT_NOTE, KIND_MESSAGE, OUTBOX_FD } from './link.js'
import { Outbox } from './outbox.js'
import { Processor } from './processor.js'
import { TaskMeter } from './task-meter.js'
import { TaskRunner } from './task-runner.js'

function startGuardian(progress: Int32Array): void {
  const guardian = new Worker(new URL('./guardian.js', import.meta.url), {
    workerData: progress,
    // It inherits nothing that user code or the command line may have asked for.
    execArgv: [],
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
  })
  guardian.unref()
}

function main(): void {
  serveClients()
  const progress = new Int32Array(new SharedArrayBuffer(4))
  const outbox = new Outbox(OUTBOX_FD, () => process.exit(0))
  const meter = new TaskMeter()
  const runner = new TaskRunner({ outbox, meter, progress })
  const processor = new Processor(runner)
  const parser = new FrameParser((kind, bytes) => processor.onFrame(kind, bytes))
  process.on('exit', () => {
    outbox.add(KIND_EXIT_NOTE, encodeExitNote(runner.running))
    outbox.flush()
  })
  const inbox = new Socket({ fd: INBOX_FD, readable: true, writable: false })
  inbox.on('data', (chunk: Buffer) => {
    parser.feed(chunk)
    runner.run()
  })
  // The agent ends this process in good order, or is gone.
  inbox.on('error', () => process.exit(0))
  inbox.on('end', () => process.exit(0))
  outbox.add(KIND_MESSAGE, encode({ kind: 'processorInitialized' }))
  outbox.flush()
  startGuardian(progress)
}

main()
