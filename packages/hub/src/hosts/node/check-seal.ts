/** Checks the key that encrypts stored secrets, before the hub starts. */
import type { Seal } from "../../lib/seal.ts";
import type { Store } from "../../store/store.ts";
import { isShortSecret, SHORT_SECRET } from "../../tenants/secret-length.ts";
import { signedSources } from "../hub-settings.ts";
import { type Settings, SettingsError } from "../settings.ts";
import type { Logger } from "./log.ts";

type Sealed = Awaited<ReturnType<Store["sampleSealed"]>>;

/** Throws if the key opens none of the stored secrets; warns if it does not open some of them. */
export async function assertOpens(
  seal: Pick<Seal, "unseal">,
  sealed: Sealed,
  { acceptLostKey, log }: { acceptLostKey: boolean; log: Pick<Logger, "warn"> },
): Promise<void> {
  const closed: Sealed = [];
  for (const one of sealed)
    await seal.unseal(one.sealed).catch(() => {
      closed.push(one);
    });
  if (closed.length === 0) return;
  const kinds = closed.map(({ kind }) => kind).join(", ");
  if (closed.length === sealed.length && !acceptLostKey)
    throw new SettingsError(
      `The key of this hub does not open the secrets in its database (${kinds}). Start it with the key that encrypted them: SIGNALBOX_KEY, or the file "key" of the data folder, from a backup. If that key is lost, start once with --accept-lost-key, and enter the secrets again.`,
    );
  log.warn(
    `the key of this hub does not open some of the stored secrets: ${kinds}. Enter them again`,
  );
}

/** Secrets from the time before the minimum length keep working. */
export async function warnOfShortSecrets(
  settings: Settings,
  {
    store,
    seal,
    log,
  }: { store: Pick<Store, "listSources">; seal: Pick<Seal, "unseal">; log: Pick<Logger, "warn"> },
): Promise<void> {
  const short = signedSources(settings).filter((source) =>
    settings.secrets[source]?.some(isShortSecret),
  );
  for (const { id, kind, secrets } of await store.listSources())
    for (const { sealed } of secrets) {
      const secret = await seal.unseal(sealed).catch(() => undefined);
      if (secret !== undefined && isShortSecret(secret)) short.push(`${kind} (endpoint ${id})`);
    }
  if (short.length > 0)
    log.warn(`the webhook secret of ${[...new Set(short)].join(", ")} ${SHORT_SECRET}`);
}
