// The other one of ping.cjs.

const other = require('./ping.cjs')
exports.pong = (n) => (n === 0 ? 'pong' : `pong ${other.ping(n - 1)}`)
