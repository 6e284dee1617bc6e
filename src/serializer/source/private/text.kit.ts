// For tests: classes with private names as compilers lower them, where terser has made the names
// short and has put helpers in place of their calls. The messages of errors are cut short.
//
//   class F { #x = 1; get x() { return this.#x } up() { this.#x++ }
//     same(o) { return o.#x === this.#x } }
//   class M { #m() { return 1 } m() { return this.#m() } }
//   class H { #a = 1; static has(o) { return #a in o } }
//   class S { static #s() { return 1 } static s() { return S.#s() } }
//   class D extends F { #d = 1; get d() { return this.#d } }
//   use(F, M, H, S, D)

/** By compiler; each has the stores of `#x`, `#m`, `#a` and `#d`. */
export const TERSER_TEXTS: Readonly<Record<string, string>> = {
  'tsc to ES2020': `
var t, e, r, s, n, a, i, o = this && this.__classPrivateFieldGet || function(t, e, r, s) {
 if ("a" === r && !s) throw new TypeError("Private");
 if ("function" == typeof e ? t !== e || !s : !e.has(t)) throw new TypeError("Cannot");
 return "m" === r ? s : "a" === r ? s.call(t) : s ? s.value : e.get(t);
}, c = this && this.__classPrivateFieldSet || function(t, e, r, s, n) {
 if ("m" === s) throw new TypeError("Private");
 if ("a" === s && !n) throw new TypeError("Private");
 if ("function" == typeof e ? t !== e || !n : !e.has(t)) throw new TypeError("Cannot");
 return "a" === s ? n.call(t, r) : n ? n.value = r : e.set(t, r), r;
}, u = this && this.__classPrivateFieldIn || function(t, e) {
 if (null === e || "object" != typeof e && "function" != typeof e) throw new TypeError("Cannot");
 return "function" == typeof t ? e === t : t.has(e);
};
class h {
 constructor() {
  t.set(this, 1);
 }
 get x() {
  return o(this, t, "f");
 }
 up() {
  var e;
  c(this, t, (e = o(this, t, "f"), ++e), "f");
 }
 same(e) {
  return o(e, t, "f") === o(this, t, "f");
 }
}
t = new WeakMap;
e = new WeakSet, r = function() {
 return 1;
};
s = new WeakMap;
class f {
 static s() {
  return o(n, n, "m", a).call(n);
 }
}
n = f, a = function() {
 return 1;
};
i = new WeakMap, use(h, class {
 constructor() {
  e.add(this);
 }
 m() {
  return o(this, e, "m", r).call(this);
 }
}, class {
 constructor() {
  s.set(this, 1);
 }
 static has(t) {
  return u(s, t);
 }
}, f, class extends h {
 constructor() {
  super(...arguments), i.set(this, 1);
 }
 get d() {
  return o(this, i, "f");
 }
});
`,
  'Babel for Node 10': `
function t(t, n, r) {
 e(t, n), n.set(t, r);
}
function e(t, e) {
 if (e.has(t)) throw new TypeError("Cannot");
}
function n(t, e) {
 return t.get(r(t, e));
}
function r(t, e, n) {
 if ("function" == typeof t ? t === e : t.has(e)) return arguments.length < 3 ? e : n;
 throw new TypeError("Private");
}
var s = new WeakMap;
class a {
 constructor() {
  t(this, s, 1);
 }
 get x() {
  return n(s, this);
 }
 up() {
  var t, e, a, i;
  e = s, a = this, t = n(s, this), t++, i = t, e.set(r(e, a), i);
 }
 same(t) {
  return n(s, t) === n(s, this);
 }
}
var i = new WeakSet;
function o() {
 return 1;
}
var c = new WeakMap;
class u {
 static s() {
  return h.call(u);
 }
}
function h() {
 return 1;
}
var l = new WeakMap;
use(a, class {
 constructor() {
  var t, n;
  e(t = this, n = i), n.add(t);
 }
 m() {
  return r(i, this, o).call(this);
 }
}, class {
 constructor() {
  t(this, c, 1);
 }
 static has(t) {
  return c.has(function(t) {
   if (Object(t) !== t) throw TypeError("right");
   return t;
  }(t));
 }
}, u, class extends a {
 constructor(...e) {
  super(...e), t(this, l, 1);
 }
 get d() {
  return n(l, this);
 }
});
`,
  'swc to ES2020': `
function t(t, e) {
 if (e.has(t)) throw new TypeError("Cannot");
}
function e(t, e, r) {
 if (!e.has(t)) throw new TypeError("attempted");
 return e.get(t);
}
function r(t, r) {
 return function(t, e) {
  return e.get ? e.get.call(t) : e.value;
 }(t, e(t, r, "get"));
}
function n(e, r, n) {
 t(e, r), r.set(e, n);
}
function a(t, r) {
 return function(t, e) {
  if (e.set) {
   if (!e.get) throw new TypeError("attempted");
   return "__destrWrapper" in e || (e.__destrWrapper = {
    set value(r) {
     e.set.call(t, r);
    },
    get value() {
     return e.get.call(t);
    }
   }), e.__destrWrapper;
  }
  if (!e.writable) throw new TypeError("attempted");
  return e;
 }(t, e(t, r, "update"));
}
function i(t, e, r) {
 return function(t, e) {
  if (t !== e) throw new TypeError("Private");
 }(t, e), r;
}
var s = new WeakMap;
class o {
 get x() {
  return r(this, s);
 }
 up() {
  a(this, s).value++;
 }
 same(t) {
  return r(t, s) === r(this, s);
 }
 constructor() {
  n(this, s, {
   writable: !0,
   value: 1
  });
 }
}
var u = new WeakSet;
function c() {
 return 1;
}
var l = new WeakMap;
class p {
 static s() {
  return i(p, p, f).call(p);
 }
}
function f() {
 return 1;
}
var h = new WeakMap;
use(o, class {
 m() {
  return function(t, e, r) {
   if (!e.has(t)) throw new TypeError("attempted");
   return r;
  }(this, u, c).call(this);
 }
 constructor() {
  var e, r;
  t(e = this, r = u), r.add(e);
 }
}, class {
 static has(t) {
  return l.has(t);
 }
 constructor() {
  n(this, l, {
   writable: !0,
   value: 1
  });
 }
}, p, class extends o {
 get d() {
  return r(this, h);
 }
 constructor(...t) {
  super(...t), n(this, h, {
   writable: !0,
   value: 1
  });
 }
});
`,
}
