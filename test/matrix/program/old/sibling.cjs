// A CommonJS file with state.

let step = 10

exports.increase = (x) => x + step
exports.setStep = (value) => {
  step = value
}
exports.readStep = function () {
  return step
}
exports.twice = (x) => 2 * x
