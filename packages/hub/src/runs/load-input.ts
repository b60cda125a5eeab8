/** What `{{ trigger }}` stands for in a run. Of an event it is read from the log: it lies there once. */
import { Permanent } from "@signalbox/rules/flows/errors.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import { summaryView } from "../inbox/event-view.ts";
import type { Run } from "../store/run-store.ts";
import type { Store } from "../store/store.ts";
import { loadEvent } from "./event-input.ts";

export async function loadInput(
  store: Pick<Store, "getEvent" | "getPayload">,
  { tenant, event_id, input, gathered }: Run,
): Promise<JsonObject> {
  if (event_id === undefined) return input;
  const loaded = await loadEvent(store, tenant, event_id);
  if (!loaded)
    throw new Permanent("The event that started the run has been removed by retention.", {
      code: "no_input",
    });
  if (gathered.length === 0) return loaded.input;
  // The others are told in short: their payloads may be any size together.
  const others: JsonObject[] = [];
  for (const { event_id: id } of gathered) {
    const event = id !== undefined && (await store.getEvent(tenant, id));
    if (event) others.push({ ...summaryView(event) });
  }
  return { ...loaded.input, gathered: others };
}
