/** Loads the value of `{{ trigger }}`. A run stores only the id of its event. */
import { Permanent } from "@signalbox/rules/flows/errors.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import type { LargeJson, MixedObject } from "@signalbox/rules/large-json.ts";
import { summaryView } from "../inbox/event-view.ts";
import type { Run } from "../store/run-store.ts";
import type { Store } from "../store/store.ts";
import { loadEvent } from "./event-input.ts";

export async function loadInput(
  store: Pick<Store, "getEvent" | "getPayload">,
  { tenant, event_id, input, gathered }: Run,
): Promise<MixedObject | LargeJson> {
  if (event_id === undefined) return input;
  const loaded = await loadEvent(store, tenant, event_id);
  if (!loaded)
    throw new Permanent("The event that started the run has been removed by retention.", {
      code: "no_input",
    });
  if (gathered.length === 0) return loaded.input;
  // Only summaries of the gathered events, because the total size of their payloads is unlimited.
  const others: JsonObject[] = [];
  for (const { event_id: id } of gathered) {
    const event = id !== undefined && (await store.getEvent(tenant, id));
    if (event) others.push({ ...summaryView(event) });
  }
  return { ...loaded.input, gathered: others };
}
