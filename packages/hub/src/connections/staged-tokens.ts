/**
 * The callback tokens that one pass sends to a server. A token is valid before the server gets it. When
 * the server has confirmed it, the tokens that it replaces expire after a grace period. If it is unknown
 * whether the server has received it, the former tokens stay valid too.
 *
 * A token is derived from the hub's key, the subscription, its server and its generation, so a renewal
 * sends the same token again. Only a rotation increases the generation. The token itself is not stored.
 */
import { CALLBACK_TOKEN_PREFIX } from "../events/callback/callback-token-cache.ts";
import { toBase64Url, utf8 } from "../kernel/lib/bytes.ts";
import { sha256Hex } from "../kernel/lib/hmac.ts";
import { deriveHmacKey, type HmacCryptoKey } from "../kernel/lib/seal.ts";
import type { Store } from "../store.ts";
import type { ConfigureOutcome } from "./configure-outcome.ts";
import type { Connection, TriggerSubscription } from "./model.ts";
import type { ConfigureCall, ConfigurePlan } from "./plan-configure.ts";

export type DeriveCallbackToken = (
  subscription: Pick<TriggerSubscription, "id" | "token_generation">,
  target: Connection["target"],
) => Promise<string>;

export function createCallbackTokenDerivation(sealKey: Uint8Array): DeriveCallbackToken {
  let key: Promise<HmacCryptoKey> | undefined;
  return async ({ id, token_generation }, target) => {
    key ??= deriveHmacKey(sealKey, "signalbox callback tokens");
    const message = utf8(JSON.stringify([id, token_generation, target]));
    const mac = await crypto.subtle.sign("HMAC", await key, message);
    return CALLBACK_TOKEN_PREFIX + toBase64Url(new Uint8Array(mac));
  };
}

export interface CallbackTokensOptions
  extends Pick<ConfigurePlan, "scope" | "calls" | "wantedTypes"> {
  store: Pick<Store, "stageCallbackToken" | "confirmCallbackToken" | "rejectCallbackToken">;
  connection: Pick<Connection, "id" | "tenant" | "target">;
  subscriptions: readonly TriggerSubscription[];
  deriveToken: DeriveCallbackToken;
  now(): number;
}

export function createStagedTokens(options: CallbackTokensOptions) {
  const { store, connection, scope, calls, wantedTypes, now } = options;
  const staged = new Map<string, { token: string; hash: string }>();

  return {
    /** Returns the token of the owner. When this resolves, the hub accepts it. */
    async stage(owner: string): Promise<string> {
      const existing = staged.get(owner);
      if (existing) return existing.token;
      const subscription = options.subscriptions.find(({ id }) => id === owner);
      if (!subscription) throw new Error(`unknown subscription ${owner}`);
      const token = await options.deriveToken(subscription, connection.target);
      const hash = await sha256Hex(token);
      await store.stageCallbackToken({
        hash,
        tenant: connection.tenant,
        connection: connection.id,
        subscription: owner,
        generation: subscription.token_generation,
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
