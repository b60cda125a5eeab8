/**
 * Polls a tool that returns a list. Each item with a new key is an event; the first call only records
 * the keys. The keys are saved after the events are stored, so that after a crash some items are found
 * again, and recognized by their ids.
 */

import { type Poll as PollSetting, pollSchema } from "@signalbox/rules/flows/poll.ts";
import type { Json } from "@signalbox/rules/json.ts";
import { parsePath, valuesAt } from "@signalbox/rules/match/path.ts";
import { sha256Hex } from "../lib/hmac.ts";
import { ConnectionError } from "./connection-error.ts";
import type { ToolAnswer } from "./connections.ts";
import type { Poll } from "./poll-subscription.ts";
import { appendPolled, type PolledEvent } from "./polled-events.ts";
import { hashKey, MAX_KEYS, readKeys, writeKeys } from "./seen-keys.ts";
import { itemsOf } from "./tool-items.ts";

const TIMEOUT_MS = 30_000;

export const pollTool: Poll = async (options, { connection }, subscription, { signal }) => {
  const setting = pollSchema.parse(subscription.poll);
  const { tool, everySeconds } = setting;
  const call = { tool, arguments: setting.arguments };
  const answer = await options.connections.callTool(connection, call, {
    signal,
    timeoutMs: TIMEOUT_MS,
  });
  if (answer.isError) throw new ConnectionError("rejected", errorOf(tool, answer));
  const list = itemsOf(answer, setting.items);
  const { items, notice } = await keyed(list.slice(0, MAX_KEYS), setting.key);

  const seen = subscription.position?.seen;
  const isFirst = typeof seen !== "string";
  const known = isFirst ? new Set<string>() : readKeys(seen);
  const series = await seriesOf(setting);
  const found = new Set<string>();
  const events: PolledEvent[] = [];
  for (const { key, hash, item } of items) {
    if (isFirst || known.has(hash) || found.has(hash)) continue;
    found.add(hash);
    events.push({ id: `${series}:${key}`, type: subscription.type || tool, data: item });
  }
  const skipped = await appendPolled(options, subscription, events);
  const hashes = items.map(({ hash }) => hash);
  return {
    position: { seen: writeKeys(known, hashes) },
    nextMs: everySeconds * 1000,
    notice: notice ?? skipped ?? tooLong(list),
  };
};

interface Item {
  key: string;
  hash: string;
  item: Json;
}

async function keyed(list: readonly Json[], path: string) {
  const parsed = parsePath(path) ?? [];
  const items: Item[] = [];
  for (const item of list) {
    const [value] = valuesAt(item, parsed);
    if (value === undefined || value === null) continue;
    const key = typeof value === "object" ? JSON.stringify(value) : String(value);
    items.push({ key, hash: await hashKey(key), item });
  }
  const missing = list.length - items.length;
  const notice =
    missing > 0
      ? `${missing} of ${list.length} items have no value at ${path}, and were skipped. Correct poll.key.`
      : undefined;
  return { items, notice };
}

/**
 * Identifies a list, so that the same keys in the lists of other tools, or of other arguments, are other
 * events.
 */
const seriesOf = async ({ tool, arguments: given, items, key }: PollSetting): Promise<string> =>
  (await sha256Hex(JSON.stringify([tool, given, items ?? null, key]))).slice(0, 12);

const tooLong = ({ length }: readonly Json[]): string | undefined =>
  length > MAX_KEYS
    ? `The list has ${length} items, and only the first ${MAX_KEYS} are read. Use arguments that return fewer.`
    : undefined;

function errorOf(tool: string, { content }: ToolAnswer): string {
  const text = content.flatMap(({ text }) => (typeof text === "string" ? [text] : [])).join(" ");
  return text.trim() || `The tool ${tool} failed without a message.`;
}
