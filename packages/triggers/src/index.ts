export type { ToolContext } from "./connection-id.ts";
export {
  createTriggers,
  type NotifyResult,
  type Triggers,
  type TriggersOptions,
} from "./create-triggers.ts";
export { defineTrigger, type Subscription, type TriggerDefinition } from "./definition.ts";
export { memoryStorage } from "./memory-storage.ts";
export type { DroppedEvent, RetriedEvent } from "./outbox.ts";
export { type SqliteDatabase, sqliteStorage } from "./sqlite-storage.ts";
export type {
  Credentials,
  Delivery,
  NewDelivery,
  StoredSubscription,
  TriggerStorage,
} from "./storage.ts";
export type { TriggerTool } from "./tools.ts";
export { TriggerError } from "./trigger-error.ts";
