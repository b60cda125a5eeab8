/** The bridge's settings. MCP clients pass them as environment variables. */
import { homedir } from "node:os";
import { join } from "node:path";
import { findLocalHub } from "./local-hub.ts";
import { parseUrl } from "./parse-url.ts";

/** A setting is missing or invalid. The message names the setting and the fix. */
export class SettingsError extends Error {
  readonly code = "bad_setting";
}

export interface BridgeSettings {
  /** The hub's URL without a trailing slash. */
  url: string;
  /** Where the URL of the local hub was found; undefined if a setting names the hub. */
  localHubFrom: string | undefined;
  /** Undefined if the user signs in instead. */
  token: string | undefined;
  /** Whether the user has a browser on this machine; if not, the sign-in uses a code. */
  hasBrowser: boolean;
  /** Whether events wake the agent. The tools are available in both cases. */
  channel: boolean;
  /** Globs of the senders whose events may wake the agent; undefined = all senders. */
  senders: readonly string[] | undefined;
  stateFolder: string;
  /** The time after which an announced event that is still pending is announced again; 0 = never. */
  remindMs: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

export function readSettings(
  env: Environment,
  home: string = homedir(),
  platform: string = process.platform,
): BridgeSettings {
  return {
    ...readHubUrl(env),
    token: readToken(readVariable(env, "SIGNALBOX_TOKEN")),
    hasBrowser: hasBrowser(env, platform),
    channel: readSwitch(env, "WEBHOOK_CHANNEL"),
    senders: readList(readVariable(env, "WEBHOOK_CHANNEL_SENDERS")),
    stateFolder: readVariable(env, "SIGNALBOX_BRIDGE_STATE") ?? join(home, ".signalbox", "bridge"),
    remindMs: readMinutes(readVariable(env, "SIGNALBOX_BRIDGE_REMIND_MINUTES")) * 60_000,
  };
}

/** An empty value, or a placeholder that the MCP client did not replace, counts as unset. */
function readVariable(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim();
  return value === undefined || value === "" || /^\$\{[^}]*\}$/.test(value) ? undefined : value;
}

/** WEBHOOK_WORKER_URL takes precedence: only the bridge reads it, while SIGNALBOX_URL is for all commands. */
function readHubUrl(env: Environment): Pick<BridgeSettings, "url" | "localHubFrom"> {
  for (const name of ["WEBHOOK_WORKER_URL", "SIGNALBOX_URL"]) {
    const value = readVariable(env, name);
    if (value !== undefined) return { url: readUrl(name, value), localHubFrom: undefined };
  }
  const { url, from } = findLocalHub(readVariable(env, "SIGNALBOX_DATA") ?? ".signalbox");
  return { url: readUrl(from, url), localHubFrom: from };
}

function readUrl(name: string, value: string): string {
  const url = parseUrl(value);
  if (!url || !/^https?:$/.test(url.protocol))
    throw new SettingsError(`${name} must be an http(s) URL, such as http://127.0.0.1:4747.`);
  if (url.username || url.password || url.search || url.hash)
    throw new SettingsError(
      `${name} must be the hub's URL without credentials or query; set the token in SIGNALBOX_TOKEN.`,
    );
  // Users often paste the URL of an endpoint, such as /mcp, instead of the hub's URL.
  return url.href.replace(/\/(mcp|events)?\/?$/, "");
}

function readToken(value: string | undefined): string | undefined {
  if (value !== undefined && !/^[\x21-\x7e]+$/.test(value))
    throw new SettingsError(
      "SIGNALBOX_TOKEN contains invalid characters: a token consists of printable ASCII characters without spaces.",
    );
  return value;
}

function hasBrowser(env: Environment, platform: string): boolean {
  if (readVariable(env, "SSH_CONNECTION") !== undefined) return false;
  return (
    platform !== "linux" || ["DISPLAY", "WAYLAND_DISPLAY"].some((name) => readVariable(env, name))
  );
}

function readSwitch(env: Environment, name: string): boolean {
  const value = readVariable(env, name)?.toLowerCase() ?? "1";
  if (["1", "true", "on", "yes"].includes(value)) return true;
  if (["0", "false", "off", "no"].includes(value)) return false;
  throw new SettingsError(`${name} must be 1 or 0.`);
}

function readList(value: string | undefined): string[] | undefined {
  return value
    ?.split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

function readMinutes(value = "10"): number {
  const minutes = Number(value);
  if (!/^\d+(\.\d+)?$/.test(value) || minutes > 10_080)
    throw new SettingsError(
      "SIGNALBOX_BRIDGE_REMIND_MINUTES must be a number of minutes up to 10080 (a week), or 0 for never.",
    );
  return minutes;
}
