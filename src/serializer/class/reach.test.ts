import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Reach } from './reach.js'

type Edge = readonly [from: string, to: string, isPart?: 'part']

/** The anchors of a message in which `main` is the root, capitals are classes, and all is owned. */
function anchorsOf(
  edges: readonly Edge[],
  about: (reach: Reach, of: (name: string) => object) => void = () => {},
): { readonly anchors: string; readonly shared: string } {
  const objects = new Map<string, object>()
  const of = (name: string): object => {
    const object = objects.get(name) ?? { name }
    objects.set(name, object)
    return object
  }
  const nameOf = (object: object): string => (object as { name: string }).name
  const reach = new Reach()
  for (const [from, to, part] of edges) {
    reach.meet(from === 'main' ? undefined : of(from), of(to), part === 'part')
    reach.own(of(to))
    if (/^[A-Z]/.test(to)) reach.noteClass(of(to))
  }
  about(reach, of)
  const shared: string[] = []
  const seeds = reach.anchors((object) => shared.push(nameOf(object)))
  return { anchors: [...seeds.keys()].map(nameOf).join(' '), shared: shared.join(' ') }
}

test('what one class reaches alone belongs to its unit', () => {
  const { anchors } = anchorsOf([
    ['main', 'A'],
    ['A', 'x'],
    ['x', 'y'],
    ['y', 'x'],
    ['main', 'z'],
  ])
  assert.equal(anchors, 'A')
})

test('what two units reach is an anchor, and what only it holds belongs to it', () => {
  const found = anchorsOf([
    ['main', 'A'],
    ['main', 'B'],
    ['A', 'x'],
    ['B', 'x'],
    ['x', 'y'],
  ])
  assert.deepEqual(found, { anchors: 'A B x', shared: 'x' })
  const withMain = anchorsOf([
    ['main', 'A'],
    ['main', 'x'],
    ['A', 'x'],
  ])
  assert.equal(withMain.anchors, 'A x')
})

test('an anchor that is found cuts off what it holds, which may show further ones', () => {
  const { anchors } = anchorsOf([
    ['main', 'A'],
    ['main', 'B'],
    ['A', 'x'],
    ['A', 'z'],
    ['B', 'x'],
    ['x', 'y'],
    ['z', 'y'],
  ])
  assert.equal(anchors, 'A B x y')
})

test('parts of classes are anchors, whatever else holds them', () => {
  const { anchors, shared } = anchorsOf([
    ['main', 'f', 'part'],
    ['f', 'o'],
    ['main', 'A'],
    ['A', 'list'],
    ['list', 'f', 'part'],
    ['main', 'g', 'part'],
  ])
  assert.deepEqual({ anchors, shared }, { anchors: 'f A', shared: '' })
})

test('each unit has a copy of what stands for a module, and shares what that holds', () => {
  const edges: Edge[] = [
    ['main', 'A'],
    ['main', 'view'],
    ['A', 'view'],
    ['view', 'x'],
  ]
  const copied = anchorsOf(edges, (reach, of) => reach.copy(of('view')))
  assert.equal(copied.anchors, 'A x')
})

test('what travels by name or as a message of its own is not shared', () => {
  const edges: Edge[] = [
    ['main', 'A'],
    ['main', 'table', 'part'],
    ['A', 'x'],
    ['table', 'x'],
  ]
  assert.equal(anchorsOf(edges).anchors, 'A x')
  assert.equal(anchorsOf(edges, (reach, of) => reach.attach(of('table'))).anchors, 'A')
})

test('of a long list that is linked both ways, all between the two entries are anchors', () => {
  const edges: Edge[] = [
    ['main', 'A'],
    ['main', 'B'],
    ['A', 'n0'],
    ['B', 'n50'],
  ]
  for (let index = 0; index < 100; index += 1) {
    edges.push([`n${index}`, `n${index + 1}`], [`n${index + 1}`, `n${index}`])
  }
  const { anchors } = anchorsOf(edges)
  assert.equal(anchors.split(' ').length, 2 + 51)
})
