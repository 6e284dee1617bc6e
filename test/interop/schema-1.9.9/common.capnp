# The schema of Scaler 1.9.9, which an older peer of ours was compiled from. For tests only.

@0xf57f79ac88fab620;

enum TaskStatus {
  success @0;
  failed @1;
  canceled @2;
  notFound @3;
  workerDied @4;
  noWorker @5;
  inactive @6;
  running @7;
  canceling @8;
}

struct ObjectContent {
  objectIds @0 :List(Data);
  objectTypes @1 :List(ObjectContentType);
  objectNames @2 :List(Data);
  objectBytes @3 :List(List(Data));
  enum ObjectContentType {
    serializer @0;
    object @1;
  }
}
