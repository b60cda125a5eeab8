/**
 * The tokens that one pass sends to a server. A token is valid before the server gets it. When the
 * server has confirmed it, the former tokens of its subscription expire after a grace period. If it is
 * unknown whether the server has it, all of them stay valid.
 */
import { sha256Hex } from "../lib/hmac.ts";
import type { CallbackScope, Connection, ConnectionStore } from "../store/connection-store.ts";
import { randomSecret } from "../tenants/tokens.ts";
import type { ConfigureOutcome } from "./configure-outcome.ts";
import type { ConfigureCall } from "./plan-configure.ts";

/** How long former tokens are accepted; rejected ones too, as a server may store one and then fail. */
const GRACE_MS = 24 * 60 * 60_000;

export const CALLBACK_TOKEN_PREFIX = "sbcb_";

export interface CallbackTokensOptions {
  store: Pick<
    ConnectionStore,
    "stageCallbackToken" | "confirmCallbackToken" | "expireCallbackToken"
  >;
  connection: Pick<Connection, "id" | "tenant">;
  scope: CallbackScope;
  /** All calls of the pass. */
  calls: readonly ConfigureCall[];
  now(): number;
}

interface StagedToken {
  token: string;
  hash: string;
  outcomes: ConfigureOutcome["outcome"][];
}

export function createCallbackTokens(options: CallbackTokensOptions) {
  const { store, connection, scope, calls, now } = options;
  const staged = new Map<string, StagedToken>();

  return {
    /** The token of the call's owner. When this resolves, the hub accepts it. */
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
        at: now(),
      });
      staged.set(owner, { token, hash, outcomes: [] });
      return token;
    },
    async record(owner: string, outcome: ConfigureOutcome["outcome"]): Promise<void> {
      const token = staged.get(owner) as StagedToken;
      token.outcomes.push(outcome);
      const sent = calls.filter((call) => call.owner === owner).length;
      if (token.outcomes.length < sent) return;
      if (token.outcomes.every((one) => one === "done"))
        await store.confirmCallbackToken(token.hash, now() + GRACE_MS);
      else if (token.outcomes.every((one) => one === "rejected"))
        await store.expireCallbackToken(token.hash, now() + GRACE_MS);
    },
  };
}
