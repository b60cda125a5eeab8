export {
  type CheckResult,
  type TestTriggersOptions,
  type TriggersReport,
  testTriggers,
} from "./testing/test-triggers.ts";
