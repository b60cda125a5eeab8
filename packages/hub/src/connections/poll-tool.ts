/**
 * Polls a tool that returns a list. Each item with a new key is an event; the first poll only records
 * the keys. The keys are saved after the events are stored. After a crash, some items may therefore be
 * found again; their events are detected as duplicates by their ids.
 */
import { type Poll as PollSetting, pollSchema } from "@signalbox/rules/flows/poll.ts";
import type { Json } from "@signalbox/rules/json.ts";
import { parsePath, valuesAt } from "@signalbox/rules/match/path.ts";
import { sha256Hex } from "../kernel/lib/hmac.ts";
import { ConnectionError } from "./connection-error.ts";
import type { ToolAnswer } from "./connections.ts";
import type { Poll } from "./polled-events.ts";
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
  const { items, notice } = await readItems(list.slice(0, MAX_KEYS), setting.key);

  const seen = subscription.position?.seen;
  const isFirstPoll = typeof seen !== "string";
  const seenHashes = isFirstPoll ? new Set<string>() : readKeys(seen);
  const listId = await listIdOf(setting);
  const newHashes = new Set<string>();
  const events: PolledEvent[] = [];
  for (const { key, hash, item } of items) {
    if (isFirstPoll || seenHashes.has(hash) || newHashes.has(hash)) continue;
    newHashes.add(hash);
    events.push({ id: `${listId}:${key}`, type: subscription.type || tool, data: item });
  }
  const skipped = await appendPolled(options, subscription, events);
  const hashes = items.map(({ hash }) => hash);
  return {
    position: { seen: writeKeys(seenHashes, hashes) },
    nextMs: everySeconds * 1000,
    notice: notice ?? skipped ?? tooLongNotice(list),
  };
};

interface KeyedItem {
  key: string;
  hash: string;
  item: Json;
}

/** Skips items without a key. `path` is the path of the key in an item. */
async function readItems(list: readonly Json[], path: string) {
  const parsed = parsePath(path) ?? [];
  const items: KeyedItem[] = [];
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

/** Identifies a list, so that equal keys of other tools or other arguments result in different events. */
const listIdOf = async ({ tool, arguments: args, items, key }: PollSetting): Promise<string> =>
  (await sha256Hex(JSON.stringify([tool, args, items ?? null, key]))).slice(0, 12);

const tooLongNotice = ({ length }: readonly Json[]): string | undefined =>
  length > MAX_KEYS
    ? `The list has ${length} items, and only the first ${MAX_KEYS} are read. Use arguments that return fewer.`
    : undefined;

function errorOf(tool: string, { content }: ToolAnswer): string {
  const text = content.flatMap(({ text }) => (typeof text === "string" ? [text] : [])).join(" ");
  return text.trim() || `The tool ${tool} failed without a message.`;
}
