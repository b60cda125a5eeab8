/**
 * A sign-in with GitHub that a browser has started. Its state and its PKCE verifier are in a sealed cookie
 * of that browser. GitHub's response to a sign-in of another browser is rejected, so that no link can sign
 * a browser in as another person.
 */
import { z } from "zod";
import { equalBytes, utf8 } from "../kernel/lib/bytes.ts";
import { challengeOf } from "../kernel/lib/pkce.ts";
import { randomSecret } from "../kernel/lib/random-secret.ts";
import type { Seal } from "../kernel/lib/seal.ts";

export const PENDING_MS = 10 * 60_000;

const pendingSchema = z.object({
  /** Distinguishes the cookie from other sealed texts of the hub. */
  kind: z.literal("github sign-in"),
  state: z.string().min(40),
  verifier: z.string().min(43),
  returnTo: z.string(),
  /** The secret of the session that the browser had at the start. */
  formerSession: z.string().optional(),
  until: z.number(),
});
export type PendingSignIn = z.infer<typeof pendingSchema>;

export async function beginSignIn(
  seal: Pick<Seal, "seal">,
  { returnTo, formerSession }: Pick<PendingSignIn, "returnTo" | "formerSession">,
  now: number,
) {
  const pending: PendingSignIn = {
    kind: "github sign-in",
    state: randomSecret(""),
    verifier: randomSecret(""),
    returnTo,
    formerSession,
    until: now + PENDING_MS,
  };
  const { state, verifier } = pending;
  const cookie = await seal.seal(JSON.stringify(pending));
  return { cookie, state, challenge: await challengeOf(verifier) };
}

/**
 * Returns undefined if GitHub's response does not belong to the sign-in of this browser, or is too
 * late.
 */
export async function resumeSignIn(
  seal: Pick<Seal, "unseal">,
  cookie: string | undefined,
  state: string | undefined,
  now: number,
): Promise<PendingSignIn | undefined> {
  if (cookie === undefined || state === undefined) return undefined;
  const text = await seal.unseal(cookie).catch(() => "null");
  const { data: pending } = pendingSchema.safeParse(JSON.parse(text));
  return pending && pending.until > now && equalBytes(utf8(pending.state), utf8(state))
    ? pending
    : undefined;
}
