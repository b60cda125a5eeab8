/** The event of a callback. Its source is the connection, and its payload is the field `data`. */
import type { JsonObject } from "@signalbox/rules/json.ts";
import type { FoundCallbackToken } from "../../store/connection-store.ts";
import type { NewEvent, Summary } from "../../store/store.ts";
import { sanitizeSummary } from "../sanitize-summary.ts";
import { pickText } from "../sources/pick.ts";
import { summarizePlain } from "../sources/plain-summary.ts";
import type { Callback } from "./parse-callback.ts";

/** The time that the server reports. Events are ordered by the time of their arrival. */
const TIMESTAMP_HEADER = "signalbox-timestamp";
/** The subscription whose token was sent. */
const SUBSCRIPTION_HEADER = "signalbox-subscription";

export const toEvent = (
  { type, data, body, timestamp }: Callback,
  { connection, subscription }: Pick<FoundCallbackToken, "connection" | "subscription">,
  given: Pick<NewEvent, "id" | "external_id" | "received_at">,
): NewEvent => ({
  ...given,
  source: connection,
  source_id: connection,
  type,
  ...sanitizeSummary(summarize(data)),
  content_type: "application/json",
  headers: {
    [SUBSCRIPTION_HEADER]: subscription,
    ...(timestamp !== undefined && { [TIMESTAMP_HEADER]: timestamp }),
  },
  body,
});

const summarize = (data: JsonObject): Partial<Summary> => ({
  ...summarizePlain(data),
  repo: pickText(data, "repo", "repository", "repo.full_name", "repository.full_name"),
});
