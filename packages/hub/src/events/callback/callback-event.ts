/**
 * Converts a callback to an event. The event's source is the connection; its payload is the
 * callback's `data`.
 */
import type { JsonObject } from "@signalbox/rules/json.ts";
import { sanitizeSummary } from "../admit/sanitize-summary.ts";
import type { NewEvent, Summary } from "../model.ts";
import { pickText } from "../sources/pick.ts";
import { summarizePlain } from "../sources/plain-summary.ts";
import type { FoundCallbackToken } from "./model.ts";
import type { Callback } from "./parse-callback.ts";

/** The callback's `timestamp`. It is only stored: events are ordered by the time of their arrival. */
const TIMESTAMP_HEADER = "signalbox-timestamp";
/** The id of the trigger subscription whose token was sent. */
const SUBSCRIPTION_HEADER = "signalbox-subscription";

/** If a job has parsed the callback, there is a summary instead of the data. */
type CallbackToStore = Omit<Callback, "data"> & ({ data: JsonObject } | { summary: Summary });

export const toEvent = (
  callback: CallbackToStore,
  { connection, subscription }: Pick<FoundCallbackToken, "connection" | "subscription">,
  assigned: Pick<NewEvent, "id" | "external_id" | "received_at">,
): NewEvent => ({
  ...assigned,
  source: connection,
  source_id: connection,
  type: callback.type,
  ...("summary" in callback ? callback.summary : summarizeCallback(callback.data)),
  content_type: "application/json",
  headers: {
    [SUBSCRIPTION_HEADER]: subscription,
    ...(callback.timestamp !== undefined && { [TIMESTAMP_HEADER]: callback.timestamp }),
  },
  body: callback.body,
});

export const summarizeCallback = (data: JsonObject): Summary =>
  sanitizeSummary({
    ...summarizePlain(data),
    repo: pickText(data, "repo", "repository", "repo.full_name", "repository.full_name"),
  });
