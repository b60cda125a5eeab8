/** Checks the stored secrets before the hub starts, and encrypts them again after their key was replaced. */
import { isShortSecret, SHORT_SECRET } from "@signalbox/contract/secret-length.ts";
import type { SealedText } from "../../flows/secrets/store.ts";
import { signedSources } from "../../hub-settings.ts";
import { createSeal, type Seal } from "../../kernel/lib/seal.ts";
import { SettingsError } from "../../kernel/settings.ts";
import type { Settings } from "../../settings.ts";
import type { Store } from "../../store.ts";
import type { Logger } from "./log.ts";
import type { SealKeys } from "./seal-key.ts";

type SealedSamples = Awaited<ReturnType<Store["sampleSealed"]>>;

/**
 * Throws if the key decrypts none of the samples, unless `acceptLostKey` is set. Logs a warning if it
 * does not decrypt some of them.
 */
export async function assertKeyDecrypts(
  seal: Pick<Seal, "unseal">,
  samples: SealedSamples,
  { acceptLostKey, log }: { acceptLostKey: boolean; log: Pick<Logger, "warn"> },
): Promise<void> {
  const failed: SealedSamples = [];
  for (const sample of samples)
    await seal.unseal(sample.sealed).catch(() => {
      failed.push(sample);
    });
  if (failed.length === 0) return;
  const kinds = failed.map(({ kind }) => kind).join(", ");
  if (failed.length === samples.length && !acceptLostKey)
    throw new SettingsError(
      `The key of this hub does not decrypt the secrets in its database (${kinds}). Start it with the key that encrypted them: SIGNALBOX_KEY, or the file "key" of the data folder, from a backup. If that key is lost, start once with --accept-lost-key, and enter the secrets again.`,
    );
  log.warn(
    `the key of this hub does not decrypt some of the stored secrets: ${kinds}. Enter them again`,
  );
}

/** Only a warning, since secrets that were stored before there was a minimum length must keep working. */
export async function warnOfShortSecrets(
  settings: Settings,
  {
    store,
    seal,
    log,
  }: { store: Pick<Store, "listSources">; seal: Pick<Seal, "unseal">; log: Pick<Logger, "warn"> },
): Promise<void> {
  const shortSecretOwners = signedSources(settings).filter((source) =>
    settings.secrets[source]?.some(isShortSecret),
  );
  for (const { id, kind, secrets } of await store.listSources())
    for (const { sealed } of secrets) {
      const secret = await seal.unseal(sealed).catch(() => undefined);
      if (secret !== undefined && isShortSecret(secret))
        shortSecretOwners.push(`${kind} (endpoint ${id})`);
    }
  if (shortSecretOwners.length > 0)
    log.warn(`the webhook secret of ${[...new Set(shortSecretOwners)].join(", ")} ${SHORT_SECRET}`);
}

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
