/**
 * Masks the credentials that a server echoes: those of its connection, and the tokens that the hub has
 * sent to it. Nothing that a server returns is stored, shown or logged unmasked.
 */

import { CALLBACK_TOKEN_PREFIX } from "../events/callback/callback-token-cache.ts";
import { createMask, type Mask } from "../kernel/lib/mask.ts";
import { ConnectionError } from "./connection-error.ts";
import type { Credentials } from "./credentials.ts";
import { quote } from "./quote.ts";

export interface EchoMask extends Pick<Mask, "text" | "json"> {
  /** Masks a server's text, then shortens it for an error message. Half a secret would not be found. */
  quote(text: string): string;
  error(error: ConnectionError): ConnectionError;
  /** Masks this token from now on, until `MAX_TOKENS` newer ones are added. */
  add(token: string): void;
}

/** Shorter values of headers and variables are not masked, because they are often ordinary words. */
const MIN_VALUE_LENGTH = 8;
/** How many of the last sent tokens are masked. Each use of a token adds it again. */
const MAX_TOKENS = 8;

/** Headers and variables, in lower case, whose values are not secret. */
const PUBLIC_NAMES = new Set([
  "accept-language",
  "home",
  "lang",
  "lc_all",
  "log_level",
  "node_env",
  "path",
  "tz",
  "user-agent",
  "x-mcp-tools",
  "x-mcp-toolsets",
]);

export function createEchoMask(credentials: Credentials): EchoMask {
  const secrets = secretsOf(credentials);
  const tokens = new Set<string>();
  let built: Mask | undefined;
  const mask = () => {
    // The hub stores only the hashes of callback tokens, so former ones are recognized by their prefix.
    built ??= createMask([...secrets, ...tokens], CALLBACK_TOKEN_PREFIX);
    return built;
  };
  return {
    text: (text) => mask().text(text),
    json: (value) => mask().json(value),
    quote: (text) => quote(mask().text(text)),
    error: ({ code, message, cause }) =>
      new ConnectionError(code, mask().text(message), cause === undefined ? {} : { cause }),
    add(token) {
      if (!tokens.delete(token)) built = undefined;
      tokens.add(token);
      const [oldest] = tokens;
      if (tokens.size > MAX_TOKENS && oldest !== undefined) tokens.delete(oldest);
    },
  };
}

function secretsOf({ auth, headers = {}, env = {} }: Credentials): string[] {
  const values = [...Object.entries(headers), ...Object.entries(env)]
    .filter(([name]) => !PUBLIC_NAMES.has(name.toLowerCase()))
    .flatMap(([, value]) => [value, ...partsOf(value)])
    .filter((value) => value.trim().length >= MIN_VALUE_LENGTH);
  if (auth?.type === "bearer") return [auth.token, ...values];
  if (auth?.type === "oauth" && auth.client_secret !== undefined)
    // For HTTP Basic, the secret is URL-encoded before it is encoded in Base64.
    return [auth.client_secret, encodeURIComponent(auth.client_secret), ...values];
  return values;
}

/** The secret parts of a value: `abc` in `Token abc`, and in the cookie `session=abc; …`. */
const partsOf = (value: string): string[] =>
  /^[\w-]+ +\S+$/.test(value)
    ? value.split(/ +/).slice(1)
    : value.split(/; */).flatMap((pair) => /^[\w-]+=(.+)$/.exec(pair)?.[1] ?? []);
