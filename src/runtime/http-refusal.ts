// The answer to what an HTTP server could not read as a request.

import type { Duplex } from 'node:stream'

/** The status for errors of Node's parser that do not only mean malformed HTTP. */
const STATUS: ReadonlyMap<string, string> = new Map([
  ['HPE_HEADER_OVERFLOW', '431 Request Header Fields Too Large'],
  ['ERR_HTTP_REQUEST_TIMEOUT', '408 Request Timeout'],
])

/** Time to read the answer, while the rest of the request is ignored. */
const READ_MS = 500

/** Answers what the event `clientError` of a server has reported, and closes the connection. */
export function refuseRequest(socket: Duplex, { code = '' }: NodeJS.ErrnoException): void {
  const status = STATUS.get(code) ?? '400 Bad Request'
  socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`)
  // Closing it before everything was read would discard the answer.
  socket.resume()
  const timer = setTimeout(() => socket.destroy(), READ_MS)
  socket.once('close', () => clearTimeout(timer))
}
