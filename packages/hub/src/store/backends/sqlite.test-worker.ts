/** A process of its own that appends to the file it is told, and answers with what it was given. */
import { arrival, placesOf, sampleEvents } from "../contract/sample.ts";
import { openSqlite } from "./sqlite.ts";

export interface Order {
  file: string;
  batches: number;
  /** Delivery ids that other processes send as well. */
  shared: string[];
}

export interface Answer {
  stored: number[];
  shared: { outcome: string; seq: number }[];
  error?: string;
}

process.on("message", async ({ file, batches, shared }: Order) => {
  const answer: Answer = { stored: [], shared: [] };
  try {
    const store = openSqlite(file);
    for (let at = 0; at < batches; at += 1) {
      const [appended] = await store.appendEvents(
        [arrival(sampleEvents(3, () => ({ external_id: null })))],
        null,
      );
      answer.stored.push(...placesOf(appended));
    }
    for (const external_id of shared) {
      const [appended] = await store.appendEvents(
        [arrival(sampleEvents(1, () => ({ external_id })))],
        null,
      );
      answer.shared.push({
        outcome: appended?.outcome ?? "none",
        seq: placesOf(appended)[0] as number,
      });
    }
    await store.close();
  } catch (error) {
    answer.error = String(error);
  }
  process.send?.(answer);
});
process.send?.("ready");
