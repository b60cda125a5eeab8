/**
 * Creates the callback tokens that one pass sends to a server. A new token is valid before the server
 * gets it. When the server has confirmed it, the tokens that it replaces expire after a grace period. If
 * it is unknown whether the server has received it, the former tokens stay valid too.
 */
import { sha256Hex } from "../lib/hmac.ts";
import type { Connection, ConnectionStore } from "../store/connection-store.ts";
import { randomSecret } from "../tenants/tokens.ts";
import type { ConfigureOutcome } from "./configure-outcome.ts";
import type { ConfigureCall, ConfigurePlan } from "./plan-configure.ts";

export const CALLBACK_TOKEN_PREFIX = "sbcb_";

export interface CallbackTokensOptions
  extends Pick<ConfigurePlan, "scope" | "calls" | "wantedTypes"> {
  store: Pick<
    ConnectionStore,
    "stageCallbackToken" | "confirmCallbackToken" | "rejectCallbackToken"
  >;
  connection: Pick<Connection, "id" | "tenant" | "target">;
  now(): number;
}

export function createTokenRotation(options: CallbackTokensOptions) {
  const { store, connection, scope, calls, wantedTypes, now } = options;
  const staged = new Map<string, { token: string; hash: string }>();

  return {
    /** Returns the token of the owner, which is created once. When this resolves, the hub accepts it. */
    async stage(owner: string): Promise<string> {
      const existing = staged.get(owner);
      if (existing) return existing.token;
      const token = randomSecret(CALLBACK_TOKEN_PREFIX);
      const hash = await sha256Hex(token);
      await store.stageCallbackToken({
        hash,
        tenant: connection.tenant,
        connection: connection.id,
        subscription: owner,
        scope,
        target: connection.target,
        types: calls.filter((call) => call.owner === owner).map(({ type }) => type),
        at: now(),
      });
      staged.set(owner, { token, hash });
      return token;
    },
    /** Records whether the server has confirmed or rejected the token of the call. */
    async record(
      { owner, type }: ConfigureCall,
      outcome: ConfigureOutcome["outcome"],
    ): Promise<void> {
      const token = owner === undefined ? undefined : staged.get(owner);
      if (!token) return;
      const { hash } = token;
      if (outcome === "done")
        await store.confirmCallbackToken({ hash, type, wanted: wantedTypes, at: now() });
      else if (outcome === "rejected") await store.rejectCallbackToken({ hash, type, at: now() });
    },
  };
}
