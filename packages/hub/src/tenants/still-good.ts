import type { Token } from "../store/store.ts";
import { allows } from "./access.ts";
import { EVERY_TENANT } from "./tokens.ts";

/** Whether a token that was good once still opens these tenants' inboxes. */
export const isStillGood = (
  token: Token | undefined,
  tenants: readonly string[],
  now: number,
): boolean =>
  token !== undefined &&
  token.revoked_at === null &&
  (token.expires_at === null || token.expires_at > now) &&
  allows(token, "inbox:read") &&
  (token.tenants.includes(EVERY_TENANT) ||
    tenants.every((tenant) => token.tenants.includes(tenant)));
