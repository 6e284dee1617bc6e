// Exports again what others export.

export { area, triangle as threeSided } from './geometry.js'
export * as state from './state.js'
