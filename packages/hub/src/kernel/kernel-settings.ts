/** The settings of the hub itself: its addresses, its database, access and limits. */
import { clientDefinitions } from "@signalbox/rules/client-settings.ts";
import { z } from "zod";
import { parseKeys } from "./lib/seal.ts";
import { areNetworks, boolean, choice, integer, setting, textList, url } from "./settings.ts";

const ALLOW_PRIVATE_RULE = "must be on, off, or IP addresses and networks, separated by commas";
/** False (off), true (on), or a list of the allowed addresses and networks. */
const allowPrivate = z.preprocess(
  (value) =>
    typeof value !== "string"
      ? value
      : ["on", "true"].includes(value.trim())
        ? true
        : ["", "off", "false"].includes(value.trim())
          ? false
          : value.split(",").map((part) => part.trim()),
  z.union(
    [z.boolean(), z.array(z.string()).refine(areNetworks, ALLOW_PRIVATE_RULE)],
    ALLOW_PRIVATE_RULE,
  ),
);

// biome-ignore format: a table
export const kernelDefinitions = {
  port: clientDefinitions.port,
  host: clientDefinitions.host,
  data: clientDefinitions.data,
  databaseUrl: setting({
    env: "DATABASE_URL", help: "sqlite: for a file in the data folder, sqlite:FILE, or postgres://…",
    secret: true,
    schema: z.string("must be a string").regex(/^(sqlite:|postgres(ql)?:\/\/)/, "must start with sqlite: or postgres://").refine((url) => !/^sqlite:(\/\/)?:memory:/.test(url), "must name a file: an in-memory database would lose acknowledged events").default("sqlite:"),
  }),
  publicUrl: setting({ env: "SIGNALBOX_PUBLIC_URL", flag: "public-url", help: "the URL under which senders and clients reach this hub", schema: url.optional() }),
  hosts: setting({ env: "SIGNALBOX_HOSTS", flag: "hosts", help: "more names under which clients reach this hub, such as signalbox or hub.internal, separated by commas", schema: textList.refine((names) => names.every((name) => URL.parse(`http://${name}`)?.hostname === name.toLowerCase()), "must be host names without ports, separated by commas").default([]) }),
  maxBodyMegabytes: setting({ env: "SIGNALBOX_MAX_BODY_MB", flag: "max-body-mb", help: "maximum size of a JSON body of /api and /mcp, in megabytes", schema: integer(1, 64).default(1) }),
  maxImportMegabytes: setting({ env: "SIGNALBOX_MAX_IMPORT_MB", flag: "max-import-mb", help: "maximum size of a JSON body with whole flows, in megabytes", schema: integer(1, 64).default(8) }),
  maxValues: setting({ env: "SIGNALBOX_MAX_VALUES", flag: "max-values", help: "maximum number of values (numbers, strings, arrays, objects) in a JSON body", schema: integer(1_000, 10_000_000).default(50_000) }),
  maxImportValues: setting({ env: "SIGNALBOX_MAX_IMPORT_VALUES", flag: "max-import-values", help: "maximum number of values in a JSON body with whole flows", schema: integer(1_000, 10_000_000).default(100_000) }),
  maxStreams: setting({ env: "SIGNALBOX_MAX_STREAMS", flag: "max-streams", help: "maximum number of open streams of all clients: GET /events, WebSockets, streams of runs", schema: integer(16, 100_000).default(4_096) }),
  tenancy: setting({ env: "SIGNALBOX_TENANCY", flag: "tenancy", help: "single, or github: one tenant for each account that installs the App", schema: choice(["single", "github"]).default("single") }),
  databaseWait: setting({ env: "SIGNALBOX_DATABASE_WAIT", flag: "database-wait", help: "seconds that the start waits for PostgreSQL if it is unavailable", schema: integer(0, 86_400).default(60) }),
  token: clientDefinitions.token,
  key: setting({ env: "SIGNALBOX_KEY", secret: true, help: "32 bytes in base64 that encrypt stored secrets; if unset, a file in the data folder. After a comma, former keys, which only decrypt", schema: z.string().refine((text) => parseKeys(text) !== undefined, "must be 32 bytes in base64: openssl rand -base64 32").optional() }),
  acceptLostKey: setting({ env: "SIGNALBOX_ACCEPT_LOST_KEY", flag: "accept-lost-key", help: "start although the key cannot decrypt the stored secrets, so that you can enter them again", schema: boolean.default(false) }),
  url: clientDefinitions.url,
  metrics: setting({ env: "SIGNALBOX_METRICS", flag: "metrics", help: "who can read /metrics: auto (a token with the scope metrics:read when the hub is public, else everyone), token or open", schema: choice(["auto", "token", "open"]).default("auto") }),
  proxyHeader: setting({ env: "SIGNALBOX_PROXY_HEADER", flag: "proxy-header", help: "header with the client's address, set by a trusted proxy, such as x-forwarded-for", schema: z.string().regex(/^[a-z0-9-]+$/i, "must be the name of a header").optional() }),
  proxyAddresses: setting({
    env: "SIGNALBOX_PROXY_ADDRESSES", flag: "proxy-addresses", help: "addresses or networks of the trusted proxies",
    schema: textList.refine(areNetworks, "must be IP addresses or networks, separated by commas").default(["127.0.0.0/8", "::1"]),
  }),
  allowPrivate: setting({ env: "SIGNALBOX_ALLOW_PRIVATE", flag: "allow-private", help: "private addresses that flows, connections and webhooks may call, also over http: off, on, or a list of addresses and networks", schema: allowPrivate.default(false) }),
  logLevel: setting({ env: "SIGNALBOX_LOG_LEVEL", flag: "log-level", help: "fatal, error, warn, info, debug, trace or silent", schema: choice(["fatal", "error", "warn", "info", "debug", "trace", "silent"]).default("info") }),
  logFormat: setting({ env: "SIGNALBOX_LOG_FORMAT", flag: "log-format", help: "auto (pretty on a terminal), json or pretty", schema: choice(["auto", "json", "pretty"]).default("auto") }),
} as const;
