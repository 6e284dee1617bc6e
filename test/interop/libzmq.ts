// libzmq as a peer, through the package `zeromq`, installed by scripts/peers.mjs. The parts that
// tests use are declared here, because the compiler does not see its folder.

import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { ROOT } from './program.js'

const FOLDER = join(ROOT, '.peers/libzmq')
const isMissing = !existsSync(join(FOLDER, 'made-of'))

/** A test that needs libzmq: skipped, with a line that says so, if it is missing. */
export function libzmqTest(name: string, run: (t: TestContext) => Promise<void>): void {
  test(name, { skip: isMissing && 'no libzmq: node scripts/peers.mjs' }, run)
}

/** A frame. */
export type Message = Buffer

type Sent = string | Buffer

/** The methods of all sockets. */
export interface Socket {
  readonly closed: boolean
  linger: number
  /** The address on which it listens. */
  readonly lastEndpoint: string | null
  bind(address: string): Promise<void>
  connect(address: string): void
  close(): void
}

interface Sending {
  send(message: Sent | Sent[]): Promise<void>
}

interface Receiving extends AsyncIterable<Buffer[]> {
  receive(): Promise<Message[]>
}

export interface Dealer extends Socket, Sending, Receiving {}
export interface Publisher extends Socket, Sending {}
export interface Reply extends Socket, Sending, Receiving {}
export interface Request extends Socket, Sending, Receiving {}
export interface Router extends Socket, Sending, Receiving {}
export interface Subscriber extends Socket, Receiving {
  subscribe(prefix: string): void
  unsubscribe(prefix: string): void
}
export interface XPublisher extends Socket, Sending, Receiving {}
export interface XSubscriber extends Socket, Sending, Receiving {}

type SocketClass<S> = new (options?: Readonly<Record<string, string | number>>) => S

export const Dealer: SocketClass<Dealer> = socketClass('Dealer')
export const Publisher: SocketClass<Publisher> = socketClass('Publisher')
export const Reply: SocketClass<Reply> = socketClass('Reply')
export const Request: SocketClass<Request> = socketClass('Request')
export const Router: SocketClass<Router> = socketClass('Router')
export const Subscriber: SocketClass<Subscriber> = socketClass('Subscriber')
export const XPublisher: SocketClass<XPublisher> = socketClass('XPublisher')
export const XSubscriber: SocketClass<XSubscriber> = socketClass('XSubscriber')

/** A class of the package; without the package, one that cannot be instantiated. */
function socketClass<S>(name: string): SocketClass<S> {
  if (isMissing) {
    return class {
      constructor() {
        throw new Error('there is no libzmq')
      }
    } as SocketClass<S>
  }
  const load = createRequire(join(FOLDER, 'package.json'))
  return (load('zeromq') as Record<string, SocketClass<S>>)[name] as SocketClass<S>
}
