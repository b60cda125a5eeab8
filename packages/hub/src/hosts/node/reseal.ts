/** Encrypts the stored secrets again, after their key was replaced. */

import type { SealedText } from "../../flows/secrets/store.ts";
import { createSeal } from "../../kernel/lib/seal.ts";
import type { Store } from "../../store.ts";
import type { SealKeys } from "./seal-key.ts";

const PAGE = 200;

/**
 * Encrypts everything that a former key has encrypted with the first key. It can be interrupted and repeated at
 * any time, also while hubs with all of these keys are running. `unreadable` is the number of values that none
 * of the keys decrypts; they are not changed.
 */
export async function resealAll(
  store: Pick<Store, "listSealed" | "replaceSealed">,
  [key, ...formerKeys]: SealKeys,
): Promise<{ resealed: number; unreadable: number }> {
  const current = createSeal(key);
  const former = createSeal(key, formerKeys);
  let resealed = 0;
  let unreadable = 0;

  const reseal = async (sealed: string): Promise<string> => {
    if (await isReadable(current.unseal(sealed))) return sealed;
    const text = await former.unseal(sealed).catch(() => undefined);
    if (text !== undefined) return current.seal(text);
    unreadable += 1;
    return sealed;
  };
  for (let after: SealedText | undefined; ; ) {
    const page = await store.listSealed(after, PAGE);
    const changes: (SealedText & { by: string })[] = [];
    for (const sealed of page) {
      const by = await mapSealed(sealed.text, reseal);
      if (by !== sealed.text) changes.push({ ...sealed, by });
    }
    if (changes.length > 0) resealed += await store.replaceSealed(changes);
    after = page.at(-1);
    if (!after) return { resealed, unreadable };
  }
}

const isReadable = (text: Promise<string>) =>
  text.then(
    () => true,
    () => false,
  );

/** A text is one sealed value, or a JSON list of former servers with their sealed credentials. */
async function mapSealed(text: string, map: (sealed: string) => Promise<string>): Promise<string> {
  if (!text.startsWith("[")) return map(text);
  const servers = JSON.parse(text) as { sealed: string | null }[];
  for (const server of servers)
    if (server.sealed !== null) server.sealed = await map(server.sealed);
  return JSON.stringify(servers);
}
