// Two files that require each other: this one and pong.cjs.

exports.ping = (n) => (n === 0 ? 'ping' : `ping ${other.pong(n - 1)}`)
const other = require('./pong.cjs')
