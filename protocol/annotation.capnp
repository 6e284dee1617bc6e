# Annotations for what the schema language itself cannot express about our fields. They are for
# generators and readers of the schemas and do not change a byte on the wire.

@0xb04f6b021867d353;

enum IdKind {
  task @0;
  object @1;
  identity @2;
  scheduler @3;
}

annotation id @0xb1f8a5d2c3e49607 (field) :IdKind;
# The Data (or each Data of the list) is an id of this kind: opaque bytes that are compared, never
# interpreted.

annotation extension @0xe6c07d4f91ab2358 (field, enumerant, struct, enum) :Void;
# Not in 1.9.9. A struct in which all such fields have their default value is written in the size
# it would have without them; see docs/protocol.md#extensions for when one may be sent.

annotation bitSet @0xd40a3e71b8962cf5 (field) :Void;
# The integer is a set of bits: a reader that cannot hold all of them drops the high ones instead of
# clamping the number.
