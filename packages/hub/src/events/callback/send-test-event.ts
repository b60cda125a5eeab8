/**
 * Stores a test event of a connection as if its server had sent it: the event is matched, starts runs and
 * can be explained like any other. The header `signalbox-test` marks it.
 */
import type { JsonObject } from "@signalbox/rules/json.ts";
import {
  isRejection,
  overQuota,
  type Rejection,
  tenantDeleted,
} from "../../kernel/http/ingest-outcome.ts";
import { utf8 } from "../../kernel/lib/bytes.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import type { Store } from "../../store.ts";
import type { AppendRequest, AppendResult } from "../model.ts";
import { parseCallback, toEvent } from "./callback-event.ts";

interface TestEventRequest {
  tenant: string;
  connection: string;
  type: string;
  /** By default, the server's sample. */
  data?: JsonObject | undefined;
}

type SendTestEvent = (request: TestEventRequest) => Promise<{ id: string } | Rejection>;

export interface SendTestEventOptions {
  store: Pick<Store, "getConnection" | "getOffers">;
  append(request: AppendRequest): Promise<AppendResult>;
  newId: () => string;
  now: () => number;
}

const TEST_HEADER = "signalbox-test";

export function createSendTestEvent(options: SendTestEventOptions): SendTestEvent {
  const { store, append, newId, now } = options;

  const sampleOf = async ({ tenant, connection, type }: TestEventRequest): Promise<JsonObject> => {
    const triggers = (await store.getOffers(tenant, connection))?.triggers ?? [];
    const sample = triggers.find((trigger) => trigger.type === type)?.sample;
    if (sample) return sample;
    throw new RequestError(
      "invalid",
      "data",
      `The server has no sample of ${type.slice(0, 100)}. Set the field data to the data of the event.`,
    );
  };

  return async (request) => {
    const { tenant, connection, type } = request;
    if (!(await store.getConnection(tenant, connection)))
      throw new RequestError(
        "not_found",
        "connection",
        `There is no connection ${connection.slice(0, 100)}.`,
      );
    const data = request.data ?? (await sampleOf(request));
    const callback = parseCallback(utf8(JSON.stringify({ type, data })));
    if (isRejection(callback)) return callback;
    const event = toEvent(
      callback,
      { connection, subscription: "" },
      { id: newId(), external_id: null, received_at: now() },
    );
    const appended = await append({
      tenant,
      events: [{ ...event, headers: { [TEST_HEADER]: "true" } }],
      data: [callback.data],
    });
    if (appended.outcome === "deleted") return tenantDeleted;
    return appended.outcome === "over_quota" ? overQuota(appended) : { id: event.id };
  };
}
