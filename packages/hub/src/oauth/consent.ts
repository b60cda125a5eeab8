/**
 * The request that a person decides about. It is sealed into the form of the consent page, and bound to
 * the session that opened the page. It can be decided only once, because its id becomes the id of the
 * grant.
 */
import { z } from "zod";
import type { Scope } from "../kernel/access/scopes.ts";
import { scopes } from "../kernel/access/scopes.ts";
import type { Seal } from "../kernel/lib/seal.ts";

const CONSENT_MS = 10 * 60_000;

const consentSchema = z.object({
  /** Distinguishes it from other sealed texts of the hub. */
  kind: z.literal("oauth consent"),
  id: z.string(),
  session: z.string(),
  client_id: z.string(),
  client_name: z.string(),
  /** `device`: `id` is the id of a pending grant. */
  flow: z.enum(["code", "poll", "device"]),
  redirect_uri: z.string().nullable(),
  state: z.string().nullable(),
  challenge: z.string().nullable(),
  resource: z.string(),
  scopes: z.array(z.enum(scopes as [Scope, ...Scope[]])),
  until: z.number(),
});
export type Consent = Omit<z.infer<typeof consentSchema>, "kind" | "until">;

export const sealConsent = (
  seal: Pick<Seal, "seal">,
  consent: Consent,
  now: number,
): Promise<string> =>
  seal.seal(JSON.stringify({ kind: "oauth consent", ...consent, until: now + CONSENT_MS }));

/** Returns undefined if another session opened the page, or this one too long ago. */
export async function openConsent(
  seal: Pick<Seal, "unseal">,
  sealed: string,
  session: string,
  now: number,
): Promise<Consent | undefined> {
  const text = await seal.unseal(sealed).catch(() => "null");
  const { data } = consentSchema.safeParse(JSON.parse(text));
  return data && data.session === session && data.until > now ? data : undefined;
}
