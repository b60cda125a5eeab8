/** A child process that appends events to a file and reports their results. */

import { appendRequest, sampleEvents, seqsOf } from "../../events/store/contract/sample.ts";
import { storeDefinition } from "../../store.ts";
import { openSqlite } from "./sqlite.ts";

export interface WorkerRequest {
  file: string;
  batches: number;
  /** Delivery ids of events that the other processes append too. */
  shared: string[];
}

export interface WorkerResult {
  /** The `seq` of each event that no other process appends. */
  stored: number[];
  shared: { outcome: string; seq: number }[];
  error?: string;
}

process.on("message", async ({ file, batches, shared }: WorkerRequest) => {
  const result: WorkerResult = { stored: [], shared: [] };
  try {
    const store = openSqlite(storeDefinition, file);
    for (let at = 0; at < batches; at += 1) {
      const [appended] = await store.appendEvents(
        [appendRequest(sampleEvents(3, () => ({ external_id: null })))],
        null,
      );
      result.stored.push(...seqsOf(appended));
    }
    for (const external_id of shared) {
      const [appended] = await store.appendEvents(
        [appendRequest(sampleEvents(1, () => ({ external_id })))],
        null,
      );
      result.shared.push({
        outcome: appended?.outcome ?? "none",
        seq: seqsOf(appended)[0] as number,
      });
    }
    await store.close();
  } catch (error) {
    result.error = String(error);
  }
  process.send?.(result);
});
process.send?.("ready");
