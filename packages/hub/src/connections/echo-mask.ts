/**
 * Masks what a server echoes of the credentials that it received: those of its connection, and the
 * tokens that the hub has sent. Nothing that a server returns is stored, shown or logged unmasked.
 */
import { createMask, type Mask } from "../lib/mask.ts";
import { CALLBACK_TOKEN_PREFIX } from "./callback-tokens.ts";
import { ConnectionError } from "./connection-error.ts";
import type { Credentials } from "./credentials.ts";
import { quote } from "./quote.ts";

export interface EchoMask extends Pick<Mask, "text" | "json"> {
  /** A server's words for an error message. Half a secret would not be found: masks, then truncates. */
  quote(text: string): string;
  error(error: ConnectionError): ConnectionError;
  /** Masks this token from now on. */
  add(token: string): void;
}

/** Shorter values of headers and variables are often ordinary words. */
const MIN_VALUE = 8;
/** The last tokens that were sent: current ones are sent, and so added, again and again. */
const MAX_TOKENS = 8;

/** Names, in lower case, of headers and variables whose values are no secrets. */
const PUBLIC = new Set([
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
  const known = secretsOf(credentials);
  const tokens = new Set<string>();
  let built: Mask | undefined;
  const mask = () => {
    // Of callback tokens, the hub keeps only the hash: a former one is recognized by its prefix.
    built ??= createMask([...known, ...tokens], CALLBACK_TOKEN_PREFIX);
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
    .filter(([name]) => !PUBLIC.has(name.toLowerCase()))
    .flatMap(([, value]) => [value, ...partsOf(value)])
    .filter((value) => value.trim().length >= MIN_VALUE);
  if (auth?.type === "bearer") return [auth.token, ...values];
  if (auth?.type === "oauth" && auth.client_secret !== undefined)
    // HTTP Basic sends the encoded secret, in Base64.
    return [auth.client_secret, encodeURIComponent(auth.client_secret), ...values];
  return values;
}

/** The credential of `Token abc`, the value of the cookie `session=abc; …`. */
const partsOf = (value: string): string[] =>
  /^[\w-]+ +\S+$/.test(value)
    ? value.split(/ +/).slice(1)
    : value.split(/; */).flatMap((pair) => /^[\w-]+=(.+)$/.exec(pair)?.[1] ?? []);
