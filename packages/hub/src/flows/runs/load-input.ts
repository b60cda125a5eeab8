/** Loads the values that the templates of a run can use: `{{ trigger }}` and `{{ secrets }}`. */
import { Permanent } from "@signalbox/rules/flows/errors.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import type { LargeJson, MixedObject } from "@signalbox/rules/large-json.ts";
import { summaryView } from "../../events/inbox/event-view.ts";
import { loadPayload } from "../../events/sources/read-payload.ts";
import type { RunJob } from "../../kernel/jobs/job.ts";
import type { Seal } from "../../kernel/lib/seal.ts";
import type { Store } from "../../store.ts";
import { eventInput, findEvent } from "../matching/event-input.ts";
import type { Run } from "./model.ts";

interface LoadInputOptions {
  store: Pick<Store, "getEvent" | "getPayload">;
  runJob: RunJob;
}

/** Loads the value of `{{ trigger }}`. A run that an event started stores only the id of the event. */
export async function loadInput(
  { store, runJob }: LoadInputOptions,
  { tenant, event_id, input, gathered }: Run,
): Promise<MixedObject | LargeJson> {
  if (event_id === undefined) return input;
  const storedEvent = await findEvent(store, tenant, event_id);
  if (!storedEvent)
    throw new Permanent("The event that started the run has been removed by retention.", {
      code: "no_input",
    });
  const { event: firstEvent, payload } = storedEvent;
  const data = await loadPayload(runJob, { tenant, source: firstEvent.source, payload });
  const trigger = eventInput(firstEvent, data);
  if (gathered.length === 0) return trigger;
  // Gathered events are loaded as summaries, because the total size of their payloads is unlimited.
  const summaries: JsonObject[] = [];
  for (const { event_id: id } of gathered) {
    const event = id !== undefined && (await store.getEvent(tenant, id));
    if (event) summaries.push({ ...summaryView(event) });
  }
  return { ...trigger, gathered: summaries };
}

/** Returns a function that reads and decrypts secrets by name. */
export const createSecretLoader =
  (store: Pick<Store, "getSecrets">, { unseal }: Pick<Seal, "unseal">) =>
  async (tenant: string, names: readonly string[]): Promise<Record<string, string>> => {
    const sealed = await store.getSecrets(tenant, names);
    const missing = names.filter((name) => !Object.hasOwn(sealed, name));
    if (missing.length > 0)
      throw new Permanent(`There is no secret ${missing.join(", ")}. Add it under /api/secrets.`, {
        code: "no_secret",
      });
    const decrypted = Object.entries(sealed).map(async ([name, text]) => [
      name,
      await unseal(text),
    ]);
    return Object.fromEntries(await Promise.all(decrypted));
  };
