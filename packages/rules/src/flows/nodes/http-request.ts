/** Calls an HTTP API. It goes only where the hub may go; see deliver/. */
import { z } from "zod";
import { Permanent } from "../errors.ts";
import {
  authHeader,
  encodeBody,
  failureOf,
  isAmong,
  outputOf,
  withQuery,
} from "../http-exchange.ts";
import { defineNode } from "../node-type.ts";
import type { OutboundErrorCode, OutboundRequest } from "../outbound.ts";
import { text } from "../text.ts";

const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()]);
/** Several values give the same name several times. */
const fields = z.record(z.string(), z.union([scalar, z.array(scalar)]));
const headerName = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/, "must be the name of a header");

const config = z.strictObject({
  method: z
    .enum(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])
    .default("GET")
    .describe("What to do there."),
  url: text("must be a URL").min(1, "must not be empty").max(8192).describe("Where to."),
  query: fields.default({}).describe("Added to the URL; a list gives a name several times."),
  headers: z.record(headerName, scalar).default({}).describe("Names and values."),
  auth: z
    .discriminatedUnion("type", [
      z.strictObject({ type: z.literal("bearer"), token: z.string().min(1) }),
      z.strictObject({ type: z.literal("basic"), username: z.string(), password: z.string() }),
      z.strictObject({ type: z.literal("header"), name: headerName, value: z.string().min(1) }),
    ])
    .optional()
    .describe("A token, a name with its password, or a header of another name."),
  body: z
    .discriminatedUnion("type", [
      z.strictObject({ type: z.literal("json"), value: z.json() }),
      z.strictObject({ type: z.literal("text"), value: z.string() }),
      z.strictObject({ type: z.literal("form"), value: fields }),
    ])
    .optional()
    .describe("What to send, and as what."),
  timeoutMs: z.int().min(1).max(300_000).default(30_000).describe("For the whole exchange."),
  maxBytes: z.int().min(0).max(20_000_000).default(2_000_000).describe("Of the answer's body."),
  redirects: z
    .int()
    .min(0)
    .max(10)
    .default(5)
    .describe("How many to follow. With none, the redirect itself is the answer."),
  failures: z
    .array(
      z.union([
        z.int().min(100).max(599),
        z.string().regex(/^[1-5]\d\d(-[1-5]\d\d)?$/, 'must be a status, or a range as "400-599"'),
      ]),
    )
    .max(50)
    .default(["400-599"])
    .describe("Statuses that are failures, such as 404 or 400-599."),
});

const HAVE_EFFECTS = new Set(["POST", "PUT", "PATCH", "DELETE"]);

/** What is wrong with the request stays wrong; all else may pass. */
const FINAL = new Set<unknown>([
  "invalid_url",
  "invalid_request",
  "address_refused",
  "too_large",
  "too_many_redirects",
] satisfies OutboundErrorCode[]);

export const httpRequest = defineNode({
  type: "HttpRequest",
  title: "HTTP request",
  description: "Calls an HTTP API, and gives out its answer.",
  icon: "Globe",
  kind: "action",
  config,
  ports: { in: ["in"], out: ["out"] },
  secretFields: ["headers", "auth"],
  sendsTo: "url",
  outputSchema: () => ({
    type: "object",
    properties: {
      status: { type: "integer" },
      headers: { type: "object" },
      format: { enum: ["json", "text", "base64", "empty"] },
      body: {},
      url: { type: "string" },
    },
    required: ["status", "headers", "format", "body", "url"],
  }),
  sample: {
    config: {
      method: "POST",
      url: "https://api.example.com/issues",
      body: { type: "json", value: { title: "It rains in" } },
    },
    refuses: {
      config: { url: "https://example.com", body: { type: "json" } },
      path: "body.value",
    },
  },
  async run({ config, signal, idempotencyKey, fetch, now }) {
    const { method, timeoutMs } = config;
    const url = withQuery(config.url, config.query);
    const body = config.body && encodeBody(config.body);
    const headers = new Map<string, string>();
    if (HAVE_EFFECTS.has(method)) headers.set("idempotency-key", idempotencyKey);
    if (body) headers.set("content-type", body.contentType);
    if (config.auth) headers.set(...authHeader(config.auth));
    for (const [name, value] of Object.entries(config.headers))
      if (value !== null) headers.set(name.toLowerCase(), String(value));

    const request: OutboundRequest = {
      method,
      url,
      headers: Object.fromEntries(headers),
      ...(body && { body: body.bytes }),
      maxResponseBytes: config.maxBytes,
      timeoutMs,
      redirects: config.redirects,
      // Whoever says https does not want to be led away from it.
      allowHttp: /^http:/i.test(url),
      signal,
    };
    const response = await fetch(request).catch((error: Error & { code?: unknown }) => {
      if (typeof error.code !== "string" || !FINAL.has(error.code)) throw error;
      throw new Permanent(error.message, { code: error.code, cause: error });
    });
    if (isAmong(response.status, config.failures)) {
      const { host = "" } = URL.parse(response.url) ?? {};
      throw failureOf(`${method} ${host}`, response, now());
    }
    return { output: outputOf(response) };
  },
});
