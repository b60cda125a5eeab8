/** The device authorization grant (RFC 8628): the user enters a code in a browser on any machine. */
import { setTimeout as sleep } from "node:timers/promises";
import type { AuthorizationServerMetadata, OAuthTokens } from "@modelcontextprotocol/client";
import { isRecord } from "./stream-event.ts";

interface DeviceCode {
  deviceCode: string;
  userCode: string;
  /** The page where the user enters the code. */
  page: string;
  expiresAt: number;
  intervalMs: number;
}

interface Client {
  metadata: AuthorizationServerMetadata;
  resource: string;
  clientId: string;
  fetch: typeof fetch;
}

const DEFAULT_INTERVAL_S = 5;
const SLOW_DOWN_MS = 5_000;

export function deviceEndpointOf(metadata: AuthorizationServerMetadata): string | undefined {
  const { device_authorization_endpoint: endpoint } = metadata as Record<string, unknown>;
  return typeof endpoint === "string" ? endpoint : undefined;
}

export async function requestDeviceCode(options: Client & { scope: string }): Promise<DeviceCode> {
  const { metadata, resource, clientId, scope } = options;
  const form = { client_id: clientId, scope, resource };
  const { ok, json } = await post(options, deviceEndpointOf(metadata) ?? "", form);
  const { device_code, user_code, verification_uri, expires_in, interval } = json;
  if (!ok || ![device_code, user_code, verification_uri].every((one) => typeof one === "string"))
    throw new Error(`the hub gave no device code (${String(json.error ?? "invalid answer")})`);
  return {
    deviceCode: String(device_code),
    userCode: String(user_code),
    page: String(verification_uri),
    expiresAt: Date.now() + (Number(expires_in) || 600) * 1000,
    intervalMs: (Number(interval) || DEFAULT_INTERVAL_S) * 1000,
  };
}

/** Polls until the user has consented. */
export async function pollForTokens(
  options: Client & { code: DeviceCode; signal: AbortSignal },
): Promise<OAuthTokens> {
  const { metadata, clientId, code, signal } = options;
  let { intervalMs } = code;
  while (Date.now() < code.expiresAt) {
    await sleep(intervalMs, undefined, { signal, ref: false });
    const { ok, json } = await post(options, metadata.token_endpoint, {
      grant_type: "urn:ietf:params:oauth:grant-type:device_code",
      device_code: code.deviceCode,
      client_id: clientId,
    });
    if (ok && typeof json.access_token === "string") return json as unknown as OAuthTokens;
    if (json.error === "slow_down") intervalMs += SLOW_DOWN_MS;
    else if (json.error !== "authorization_pending")
      throw new Error(`the hub answered ${String(json.error ?? "with an invalid answer")}`);
  }
  throw new Error("the code has expired");
}

async function post({ fetch }: Client, url: string, form: Record<string, string>) {
  const response = await fetch(url, {
    method: "POST",
    headers: { accept: "application/json" },
    body: new URLSearchParams(form),
  });
  const json: unknown = await response.json().catch(() => undefined);
  return { ok: response.ok, json: isRecord(json) ? json : {} };
}
