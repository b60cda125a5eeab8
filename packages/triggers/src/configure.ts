/** Executes TRIGGER_CONFIGURE: saves or removes one subscription, and calls the author's hooks. */
import type { Subscription, TriggerDefinition } from "./definition.ts";
import { looselyEquals } from "./matches.ts";
import type { Outbox } from "./outbox.ts";
import { parseParams } from "./parse-params.ts";
import {
  type Credentials,
  keyOf,
  type StoredSubscription,
  type TriggerStorage,
} from "./storage.ts";
import { messageOf, TriggerError } from "./trigger-error.ts";

export interface ConfigureRequest {
  type: string;
  params?: unknown;
  enabled: boolean;
  callbackUrl?: string | undefined;
  callbackToken?: string | undefined;
  subscriptionId?: string | undefined;
}

export interface ConfigureContext {
  definitions: ReadonlyMap<string, TriggerDefinition>;
  storage: TriggerStorage;
  outbox: Pick<Outbox, "resolveWaiters" | "wake">;
  now: () => number;
  allowCallback: (url: URL) => boolean | Promise<boolean>;
  onError: (error: unknown) => void;
}

/** Throws a `TriggerError` if the request is invalid, and the error of `onSubscribe` if it fails. */
export async function configure(
  connectionId: string,
  request: ConfigureRequest,
  context: ConfigureContext,
): Promise<void> {
  const key = keyOf(request.subscriptionId ?? null, request.type);
  if (request.enabled) await enable(connectionId, key, request, context);
  else await disable(connectionId, key, context);
}

async function enable(
  connectionId: string,
  key: string,
  request: ConfigureRequest,
  context: ConfigureContext,
): Promise<void> {
  const { definitions, storage } = context;
  const { type } = request;
  const definition = definitions.get(type);
  if (!definition)
    throw new TriggerError(
      "unknown_type",
      `unknown trigger type "${type}": this server has ${[...definitions.keys()].join(", ")}`,
    );
  const params = await parseParams(type, definition.params, request.params);
  const credentials = await readCredentials(request, context);

  const former = await storage.getSubscription(connectionId, key);
  const isUnchanged = former?.type === type && looselyEquals(former.params, params);
  const subscription = {
    connectionId,
    key,
    subscriptionId: request.subscriptionId ?? null,
    type,
    params,
    isReady: !definition.onSubscribe || (isUnchanged && former.isReady),
  };
  if (!(await storage.saveSubscription(subscription, credentials, context.now())))
    throw new TriggerError(
      "bad_callback",
      "callbackUrl and callbackToken are missing, and none are stored for this subscription: send both",
    );
  if (former && !isUnchanged) await callOnUnsubscribe(former, context);
  if (!subscription.isReady) await callOnSubscribe(definition, subscription, former, context);
  context.outbox.wake();
}

/** Calls `onSubscribe`. If it fails, the former subscription is restored, and the client gets the error. */
async function callOnSubscribe(
  definition: TriggerDefinition,
  subscription: Omit<StoredSubscription, keyof Credentials>,
  former: StoredSubscription | undefined,
  { storage, now }: ConfigureContext,
): Promise<void> {
  const { connectionId, key } = subscription;
  try {
    await definition.onSubscribe?.(publicView(subscription));
  } catch (error) {
    if (former) await storage.saveSubscription({ ...former, isReady: false }, former, now());
    else await storage.removeSubscription(connectionId, key);
    throw error;
  }
  await storage.saveSubscription({ ...subscription, isReady: true }, undefined, now());
}

async function disable(
  connectionId: string,
  key: string,
  context: ConfigureContext,
): Promise<void> {
  const removed = await context.storage.removeSubscription(connectionId, key);
  if (!removed) return;
  context.outbox.resolveWaiters(removed);
  await callOnUnsubscribe(removed, context);
}

/** Passes an error of the hook to `onError`, because the subscription has already ended. */
export async function callOnUnsubscribe(
  subscription: StoredSubscription,
  { definitions, onError }: Pick<ConfigureContext, "definitions" | "onError">,
): Promise<void> {
  try {
    await definitions.get(subscription.type)?.onUnsubscribe?.(publicView(subscription));
  } catch (error) {
    onError(error);
  }
}

/** Returns the subscription as the author's code sees it, without credentials and internal fields. */
export const publicView = ({
  connectionId,
  subscriptionId,
  type,
  params,
}: Subscription): Subscription => ({ connectionId, subscriptionId, type, params });

async function readCredentials(
  { callbackUrl, callbackToken }: ConfigureRequest,
  { allowCallback }: ConfigureContext,
): Promise<Credentials | undefined> {
  if (callbackUrl === undefined && callbackToken === undefined) return undefined;
  if (callbackUrl === undefined)
    throw new TriggerError("bad_callback", "callbackUrl is missing: send it with callbackToken");
  if (!callbackToken)
    throw new TriggerError("bad_callback", "callbackToken must be a non-empty string");
  let url: URL;
  try {
    url = new URL(callbackUrl);
  } catch (error) {
    throw new TriggerError("bad_callback", `callbackUrl is not a URL: ${messageOf(error)}`);
  }
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new TriggerError("bad_callback", "callbackUrl must begin with http:// or https://");
  if (!(await allowCallback(url)))
    throw new TriggerError("bad_callback", `callbackUrl is not allowed here: ${url.origin}`);
  return { callbackUrl, callbackToken };
}
