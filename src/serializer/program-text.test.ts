// Programs as texts that no formatter has touched: each creates a function, and its result must be
// the same here and after a transfer. Programs that the generator (test/fuzz) has found are kept
// here.

import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { runInThisContext } from 'node:vm'
import { sized } from '../base/short-run.kit.js'
import { TwoSides } from './two-sides.kit.js'

const sides = new TwoSides()

/** The function that a program returns, created anew, as in a file of a CommonJS loader. */
function made(program: string, isStrict: boolean): () => unknown {
  const directive = isStrict ? '"use strict";' : ''
  const file = `(function(exports,require,module,__filename,__dirname){${directive}${program}\n})`
  return (runInThisContext(file) as () => () => unknown)()
}

async function sameBothWays(program: string, isStrict: boolean): Promise<void> {
  const here = await made(program, isStrict)()
  const there = await sides.send(made(program, isStrict))()
  assert.deepEqual(there, here, program)
}

const TIGHT: readonly string[] = [
  String.raw`class K0{y=7};const A=class extends(B=>B)(K0){z=1};return()=>{const a=new A;return [a.y,a.z,a instanceof K0]}`,
  String.raw`class K0{y=7};const m={mixin:B=>class extends B{q=2}};class A extends(0,m.mixin)(K0){z=1};return()=>{const a=new A;return [a.y,a.z,a.q,a instanceof K0]}`,
  String.raw`class K0{y=7};class A extends(K0){constructor(){super();this.z=1}};return()=>{const a=new A;return [a.y,a.z]}`,
  String.raw`class K0{y=7};class A extends[K0][0]{z=1};return()=>{const a=new A;return [a.y,a.z]}`,
  String.raw`class A extends function(){this.y=3}{z=1};return()=>{const a=new A;return [a.y,a.z]}`,
  String.raw`class A extends class{y=3}{z=1};return()=>{const a=new A;return [a.y,a.z]}`,
  String.raw`class A extends(class{y=3}){z=1};return()=>{const a=new A;return [a.y,a.z]}`,
  String.raw`class A extends null{static s(){return 4}};return()=>A.s()`,
  String.raw`class A extends(null){static s(){return 4}};return()=>A.s()`,
  String.raw`const o={get[Symbol.toStringTag](){return 'tag'}};return()=>Object.prototype.toString.call(o)`,
  String.raw`const o={get"a b"(){return 1},set"a b"(v){this.q=v}};return()=>{o['a b']=4;return o['a b']+o.q}`,
  String.raw`const k='x';const o={get[k](){return 1},set[k](v){this.q=v}};return()=>{o.x=4;return o.x+o.q}`,
  String.raw`const k='x';const o={async[k](){return 1},*[k+1](){yield 2},async*[k+2](){yield 3}};return async()=>[await o.x(),[...o.x1()],(await o.x2().next()).value]`,
  String.raw`const o={async"x"(){return 1},*"y"(){yield 2},async*"z"(){yield 3},get 1(){return 5}};return async()=>[await o.x(),[...o.y()],(await o.z().next()).value,o[1]]`,
  String.raw`class C{static async*"x"(){yield 1}static get[ 'y' ](){return 2}static{C.z=5}static"w"(){return 6}static*"v"(){yield 3}static[ 'u' ]=8;get[ 'q' ](){return 9}static async[ 'r' ](){return 10}};return async()=>[(await C.x().next()).value,C.y,C.z,C.w(),[...C.v()],C.u,new C().q,await C.r()]`,
  String.raw`class C{static async*"x"(){yield 1}static get["y"](){return 2}};const {x}=C;const y=Object.getOwnPropertyDescriptor(C,'y').get;return async()=>[(await x().next()).value,y()]`,
  String.raw`class C{get[1](){return 2}async*[2](){yield 3}*[3](){yield 4}get"q"(){return 5}set"q"(v){}};const d=Object.getOwnPropertyDescriptors(C.prototype);const a=d[1].get,b=d[2].value,c=d[3].value,e=d.q.get;return async()=>[a(),(await b().next()).value,[...c()],e()]`,
  String.raw`let n=0;const f=()=>{n+=1;return typeof(n)+typeof[n]+void(n)+(n in{1:1})};return()=>f()`,
  String.raw`let n=[1];const g=()=>{n=[2]};const f=function*(){yield*n;return n};return()=>{g();return[...f()]}`,
  String.raw`let n=1;const g=()=>{n=2};const f=async()=>{await(n);await[n];for(const x of[n])if(x in[n])return n;else return(n);throw(n)};return async()=>{g();return await f()}`,
  String.raw`let n=1;const g=()=>{n=2};const f=(s)=>{switch(s){case(n):return n;case-n:return"a";default:do n++;while(n<5)return n}};return()=>{g();return[f(2),f(-2),f(7)]}`,
  String.raw`let n=class{};const g=()=>{n=class{q=1}};const f=()=>new(n);return()=>{g();return f().q}`,
  String.raw`function F(){return new.target===void 0?1:2};return()=>[F(),typeof new F]`,
  String.raw`let g=()=>1;const s=()=>{g=()=>2};const f=()=>{s();if(1)g();else g();return g()};return()=>f()`,
  String.raw`let g=()=>1;const s=()=>{g=()=>2};const f=()=>{s();do g();while(0)return void g()||g()};return()=>f()`,
  'let g=(a)=>a[0];const s=()=>{g=(a)=>a[0]+2};const f=()=>{s();return g`x`};return()=>f()',
  'let x=1;const s=()=>{x=()=>3};const f=()=>{s();var y=4\n;x()\nreturn x()};return()=>f()',
  String.raw`class A{#x=1;static#y=2;static z=3;get#q(){return this.#x}static async*#w(){yield 1}r(){return this.#q+A.#y}static async t(){return(await A.#w().next()).value}};return async()=>[new A().r(),await A.t()]`,
  "class A{static a=1;static b\nstatic c;static'd'=4;static 5=6;x\ny=1;static{}static{this.e=1}};return()=>[A,new A]&&[A.a,A.b,A.c,A.d,A[5],A.e,Object.keys(new A)]",
  String.raw`class A{static=1;get=2;set=3;async=4;static static=5;static get=6;static async=7};return()=>[new A,A.static,A.get,A.async].map(x=>JSON.stringify(x))`,
  'class A{get\n*x(){yield 1}};return()=>[...new A().x()]',
  String.raw`class A{static async(){return 1}static get(){return 2}get(){return 3}static static(){return 4}};const{async:a,get:g,static:s}=A;return()=>[a(),g(),s()]`,
  String.raw`const o={async(){return 1},get(){return 2},set(){return 3},await(){return 4},new(){return 5}};const{async:a,get:g,set:s,await:w,new:n}=o;return()=>[a(),g(),s(),w(),n()]`,
  'const o={a(){return 1},$(){return 2},\\u0061b(){return 3}};const{a,$,ab}=o;return()=>[a(),$(),ab()]',
  String.raw`const o={/*c*/get/*[*/[/*]*/'x'/*[*/]/**/(){return 1},async/**/*/*x*/['y'](){yield 2}};const g=Object.getOwnPropertyDescriptor(o,'x').get;const y=o.y;return async()=>[g(),(await y().next()).value]`,
  String.raw`const P='p';const o={[(P)](){return 1},[[1,2].join(']')](){return 2},['](']/*](*/(a=')]'){return a}};const fs=Object.values(o);return()=>fs.map(f=>f())`,
]

const WIDE: readonly string[] = [
  'const 𝒳=7;return()=>𝒳',
  'let 𝒴=1;const f=()=>(𝒴+=1);return()=>[f(),𝒴]',
  'const \\u{1d4b5}=3,𝒳=4;return()=>𝒵+\\u{1d4b5}+\\u{1D4B3}',
  'let 𝒴=1;const 𝒳=2,s=()=>(𝒴=3);return()=>s()&&({𝒳,𝒴,z:{\\u{1d4b4}}})',
  'const 𝒳=7;class 𝒦{𝒻=𝒳;#𝓅=4;static 𝓈=9;g(){return this.#𝓅}};class Q extends 𝒦{z=𝒳};return()=>[new 𝒦().𝒻,new Q().g(),Q.𝓈,𝒦.name,new Q().z]',
  'const 𝒳=7;return()=>((𝒶=𝒳,{𝒷=2}={},...𝓇𝓈)=>𝒶+𝒷+𝓇𝓈.length)(...[,,1])',
  'const 𝒳=7;return()=>{𝒳:for(;;){for(;;)break 𝒳}return 𝒳}',
  'let 𝒞=0;const f=()=>{𝒞++;return 𝒞};return()=>f()+f()',
  'let 𝒷=()=>1;const f=()=>{𝒷=()=>5};return()=>{f();return[𝒷(),𝒷.name]}',
  'function fact𝒳(n){return n<2?1:n*fact𝒳(n-1)};return()=>fact𝒳(5)',
  'let 𝒴,𝒞;const f=()=>{({a:𝒴}={a:4});[𝒞]=[8];return[𝒴,𝒞]};return f',
  'const P\\u0061rent=11;class K{};class A extends K{a=P\\u{61}rent};return()=>new A().a',
  'const 𝒳=()=>1;return()=>typeof 𝒳+typeof 𝒵+(()=>𝒳())()',
]

for (const isStrict of sized([true, false], [true])) {
  const mode = isStrict ? 'strict' : 'sloppy'
  test(`keywords without a space after them, ${mode}`, async () => {
    for (const program of TIGHT) await sameBothWays(program, isStrict)
  })

  test(`names with letters outside the basic plane, and escaped ones, ${mode}`, async () => {
    for (const program of WIDE) await sameBothWays(program, isStrict)
  })
}

test('a name outside of the basic plane may be that of a `require`', () => {
  const 𝓇 = createRequire(import.meta.url)
  const separator = (): string => (𝓇('node:path') as { sep: string }).sep
  assert.equal(sides.send(separator)(), separator())
})
