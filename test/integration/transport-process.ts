// A program for transport-process.test.ts: one scenario of the effect of sockets on their process.

import { identity } from '#src/base/ids.js'
import { DealerSocket, type DealerHandler } from '#src/transport/dealer.js'
import { PubSocket } from '#src/transport/pub.js'
import { RouterSocket, type RouterHandler } from '#src/transport/router.js'
import { SubSocket } from '#src/transport/sub.js'
import { TurnFlusher } from '#src/transport/writer.js'

const [, , scenario = '', address = ''] = process.argv
const ME = identity('child')
const QUICK = { reconnectMinMs: 5, reconnectMaxMs: 20 }

function dealerHandler(own: Partial<DealerHandler>): DealerHandler {
  const ignore = (): void => {}
  return {
    onMessages: ignore,
    onConnect: ignore,
    onDisconnect: ignore,
    onDrain: ignore,
    onConnectFailed: ignore,
    ...own,
  }
}

function routerHandler(own: Partial<RouterHandler>): RouterHandler {
  const ignore = (): void => {}
  return {
    onMessages: ignore,
    onConnect: ignore,
    onDisconnect: ignore,
    onDrain: ignore,
    onProgress: ignore,
    ...own,
  }
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

/** Unreferenced while there is nothing to connect to. */
function unrefAtOnce(): void {
  new DealerSocket(address, ME, dealerHandler({}), QUICK).unref()
}

/** Unreferenced once connected. */
function unrefLater(): void {
  const onConnect = (): void => {
    print('connected')
    dealer.unref()
  }
  const dealer = new DealerSocket(address, ME, dealerHandler({ onConnect }))
}

/** Referenced again: runs until it is asked to end. */
function refAgain(): void {
  const onMessages = (): void => {
    print('told to end')
    void dealer.close()
  }
  const dealer = new DealerSocket(address, ME, dealerHandler({ onMessages }))
  dealer.unref()
  dealer.ref()
}

/** Referenced, with nothing to connect to: keeps trying. */
function keepTrying(): void {
  const onConnectFailed = (): void => print('failed')
  const dealer = new DealerSocket(address, ME, dealerHandler({ onConnectFailed }), QUICK)
  dealer.unref()
  dealer.ref()
}

/** Unreferenced, but `close` still delivers. */
async function closeUnreferenced(): Promise<void> {
  const dealer = new DealerSocket(address, ME, dealerHandler({}))
  dealer.unref()
  dealer.send(Buffer.from('last words'))
  await dealer.close()
  print('closed')
}

/** All kinds of sockets, used and closed: nothing may be left. */
async function openAndClose(): Promise<void> {
  const router = await RouterSocket.bind('tcp://127.0.0.1:0', routerHandler({}))
  const pub = await PubSocket.bind('tcp://127.0.0.1:0', () => {})
  await new Promise<void>((resolve) => {
    const dealer = new DealerSocket(
      router.address,
      ME,
      dealerHandler({ onConnect: () => subscribe() }),
    )
    const subscribe = (): void => {
      const onConnect = (): void =>
        void Promise.all([dealer.close(), sub.close()]).then(() => resolve())
      const sub = new SubSocket(pub.address, { ...dealerHandler({}), onConnect })
    }
  })
  await Promise.all([router.close(), pub.close()])
  // Node itself releases closed handles some turns later.
  for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate)
  const left = process.getActiveResourcesInfo().filter((each) => !/^(TTY|Pipe|FS)/.test(each))
  print(`left: ${left.join(' ') || 'nothing'}`)
}

/** A handler that throws loses neither messages nor the connection. */
async function throwInHandler(): Promise<void> {
  let errors = 0
  let messages = 0
  process.on('uncaughtException', () => (errors += 1))
  const onMessages: RouterHandler['onMessages'] = (from, batch) => {
    messages += batch.length
    for (const message of batch) router.send(from, message)
    throw new Error('a bug of the owner')
  }
  const onConnect = (): void => {
    throw new Error('another')
  }
  const router = await RouterSocket.bind(
    'tcp://127.0.0.1:0',
    routerHandler({ onMessages, onConnect }),
  )
  let echoed = 0
  const onEcho: DealerHandler['onMessages'] = (batch) => {
    echoed += batch.length
    if (echoed < 1000) dealer.send(Buffer.alloc(echoed % 2 === 0 ? 10 : 100_000))
    else void Promise.all([dealer.close(), router.close()]).then(() => report())
  }
  const dealer = new DealerSocket(router.address, ME, dealerHandler({ onMessages: onEcho }))
  const report = (): void =>
    print(`${messages} messages, ${echoed} echoed, ${errors > 1000} errors`)
  dealer.send(Buffer.from('first'))
}

/** An error during a flush does not prevent that of the others. */
function throwWhileFlushing(): void {
  process.on('uncaughtException', () => print('thrown'))
  const fail = (): never => {
    throw new Error('a bug of the owner')
  }
  const flusher = new TurnFlusher()
  for (const flush of [() => print('one'), fail, () => print('two'), fail]) flusher.add({ flush })
}

switch (scenario) {
  case 'unref-at-once':
    unrefAtOnce()
    break
  case 'unref-later':
    unrefLater()
    break
  case 'ref-again':
    refAgain()
    break
  case 'keep-trying':
    keepTrying()
    break
  case 'close-unreferenced':
    await closeUnreferenced()
    break
  case 'open-and-close':
    await openAndClose()
    break
  case 'throw-in-handler':
    await throwInHandler()
    break
  case 'throw-while-flushing':
    throwWhileFlushing()
    break
  default:
    throw new Error(`no scenario ${scenario}`)
}
