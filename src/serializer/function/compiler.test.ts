import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultSerializer } from '../serializer.js'

type Anything = (...parameters: unknown[]) => unknown

/** Sends a function there and back. */
function arrived(fn: unknown): Anything {
  return defaultSerializer.deserialize(defaultSerializer.serialize(fn)) as Anything
}

/** What a compiler has written, evaluated as it would be. */
function evaluated(text: string): Anything {
  // oxlint-disable-next-line typescript/no-implied-eval -- as a loader does
  return Reflect.apply(new Function(text), undefined, []) as Anything
}

test("Babel's import of everything travels, without what it has remembered", () => {
  const load = evaluated(`
    function _interopRequireWildcard(e, t) {
      if ("function" == typeof WeakMap) var r = new WeakMap()
      return (_interopRequireWildcard = function (e, t) {
        if (!t && e && e.__esModule) return e
        if (r.has(e)) return r.get(e)
        const f = { __proto__: null, default: e }
        return r.set(e, f), Object.assign(f, e)
      })(e, t)
    }
    _interopRequireWildcard({})
    return (what) => _interopRequireWildcard(what)`)
  const there = arrived(load)
  const found = there({ a: 1, default: 2 }) as Record<string, unknown>
  assert.deepEqual({ ...found }, { a: 1, default: { a: 1, default: 2 } })
  const module = { __esModule: true }
  assert.equal(there(module), module)
})

test("swc's import of everything travels, without what it has remembered", () => {
  const load = evaluated(`
    function _getRequireWildcardCache(nodeInterop) {
      if (typeof WeakMap !== "function") return null;
      var cacheBabelInterop = new WeakMap();
      var cacheNodeInterop = new WeakMap();
      return (_getRequireWildcardCache = function(nodeInterop) {
        return nodeInterop ? cacheNodeInterop : cacheBabelInterop;
      })(nodeInterop);
    }
    function _interop_require_wildcard(obj, nodeInterop) {
      if (!nodeInterop && obj && obj.__esModule) return obj;
      if (obj === null || typeof obj !== "object" && typeof obj !== "function") return { default: obj };
      var cache = _getRequireWildcardCache(nodeInterop);
      if (cache && cache.has(obj)) return cache.get(obj);
      var newObj = { __proto__: null };
      for (var key in obj) if (key !== "default") newObj[key] = obj[key];
      newObj.default = obj;
      if (cache) cache.set(obj, newObj);
      return newObj;
    }
    _interop_require_wildcard({})
    return (what) => _interop_require_wildcard(what)`)
  const there = arrived(load)
  const found = there({ a: 1, default: 2 }) as Record<string, unknown>
  assert.deepEqual({ ...found }, { a: 1, default: { a: 1, default: 2 } })
  const module = { __esModule: true }
  assert.equal(there(module), module)
  assert.deepEqual({ ...(there(5) as object) }, { default: 5 })
})

test('a function of the user with such a name is sent as it is', () => {
  const load = evaluated(`
    function _interop_require_wildcard(value) { return [value] }
    return (what) => _interop_require_wildcard(what)`)
  assert.deepEqual(arrived(load)(1), [1])
})

test("TypeScript's import of everything travels", () => {
  const load = evaluated(`
    const __importStar = (function () {
      var ownKeys = function (o) { ownKeys = Object.getOwnPropertyNames; return ownKeys(o) }
      return function (mod) {
        if (mod && mod.__esModule) return mod;
        var result = {}
        for (var k = ownKeys(mod), i = 0; i < k.length; i++) result[k[i]] = mod[k[i]]
        return result
      }
    })()
    __importStar({})
    return (what) => __importStar(what)`)
  const found = arrived(load)({ a: 1 }) as Record<string, unknown>
  assert.deepEqual({ ...found }, { a: 1, default: { a: 1 } })
})

test('counters of coverage stay here: what is counted there goes nowhere', () => {
  const tested = evaluated(`
    function cov_1abc() {
      const counted = { s: { 0: 0 }, f: { 0: 0 }, b: { 0: [0, 0] }, statementMap: 'x'.repeat(9000) }
      const actualCoverage = counted
      cov_1abc = function () { return actualCoverage }
      return actualCoverage
    }
    cov_1abc()
    return function (a) {
      cov_1abc().f[0]++
      cov_1abc().s[0]++
      return a > 0 ? (cov_1abc().b[0][0]++, 'more') : (cov_1abc().b[0][1]++, 'less')
    }`)
  assert.ok(defaultSerializer.serialize(tested).byteLength < 2_000)
  assert.equal(arrived(tested)(1), 'more')
  assert.equal(arrived(tested)(-1), 'less')
  assert.equal(arrived(arrived(tested))(1), 'more')
})
