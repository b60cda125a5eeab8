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

/** The data were summarized already if the sandbox has read them. */
type CallbackToStore = Omit<Callback, "data"> & ({ data: JsonObject } | { summary: Summary });

export const toEvent = (
  callback: CallbackToStore,
  { connection, subscription }: Pick<FoundCallbackToken, "connection" | "subscription">,
  given: Pick<NewEvent, "id" | "external_id" | "received_at">,
): NewEvent => ({
  ...given,
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
