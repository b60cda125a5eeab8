/** Checks the stored secrets before the hub starts: their key, and their length. */

import { isShortSecret, SHORT_SECRET } from "@signalbox/contract/secret-length.ts";
import { signedSources } from "../../hub-settings.ts";
import type { Seal } from "../../kernel/lib/seal.ts";
import { SettingsError } from "../../kernel/settings.ts";
import type { Settings } from "../../settings.ts";
import type { Store } from "../../store.ts";
import type { Logger } from "./log.ts";

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
