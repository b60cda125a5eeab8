/** Calls an HTTP API. The host's `GuardedFetch` rejects private addresses. */
import { z } from "zod";
import { MAX_VALUE_BYTES, MAX_VALUE_MB } from "../../large-json.ts";
import { Permanent } from "../errors.ts";
import {
  authHeader,
  encodeBody,
  isStatusIn,
  PERMANENT_OUTBOUND_ERRORS,
  readOutput,
  responseError,
  withQuery,
} from "../http-exchange.ts";
import { mixedValue } from "../json-value.ts";
import { defineNode } from "../node-type.ts";
import type { OutboundRequest } from "../outbound.ts";
import { textSchema } from "../text-schema.ts";

const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()]);
/** An array repeats the name for each value. */
const fields = z.record(z.string(), z.union([scalar, z.array(scalar)]));
const headerName = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/, "must be the name of a header");

const DEFAULT_MAX_BYTES = 2_000_000;

const config = z.strictObject({
  method: z
    .enum(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])
    .default("GET")
    .describe("The HTTP method."),
  url: textSchema("must be a URL").min(1, "must not be empty").max(8192).describe("The URL."),
  query: fields.default({}).describe("Appended to the URL; an array repeats the name."),
  headers: z.record(headerName, scalar).default({}).describe("Headers by name."),
  auth: z
    .discriminatedUnion("type", [
      z.strictObject({ type: z.literal("bearer"), token: z.string().min(1) }),
      z.strictObject({ type: z.literal("basic"), username: z.string(), password: z.string() }),
      z.strictObject({ type: z.literal("header"), name: headerName, value: z.string().min(1) }),
    ])
    .optional()
    .describe("A bearer token, basic authentication, or another header."),
  body: z
    .discriminatedUnion("type", [
      z.strictObject({ type: z.literal("json"), value: mixedValue() }),
      z.strictObject({ type: z.literal("text"), value: z.string() }),
      z.strictObject({ type: z.literal("form"), value: fields }),
    ])
    .optional()
    .describe("The request body and its format."),
  timeoutMs: z
    .int()
    .min(1)
    .max(300_000)
    .default(30_000)
    .describe("Time limit of the whole exchange, in milliseconds."),
  maxBytes: z
    .int()
    .min(0)
    .max(
      MAX_VALUE_BYTES,
      `must be at most ${MAX_VALUE_BYTES}: the output of a step is at most ${MAX_VALUE_MB} MB`,
    )
    .default(DEFAULT_MAX_BYTES)
    .describe("Maximum size of the response body, in bytes."),
  redirects: z
    .int()
    .min(0)
    .max(10)
    .default(5)
    .describe("How many redirects to follow. With 0, a redirect is the response."),
  failures: z
    .array(
      z.union([
        z.int().min(100).max(599),
        z
          .string()
          .regex(/^[1-5]\d\d(-[1-5]\d\d)?$/, 'must be a status, or a range such as "400-599"'),
      ]),
    )
    .max(50)
    .default(["400-599"])
    .describe("Statuses that fail the step, such as 404 or 400-599."),
});

/** Versions that were published earlier can have a larger `maxBytes`. */
const publishedConfig = config.extend({
  maxBytes: z.int().min(0).max(20_000_000).default(DEFAULT_MAX_BYTES),
});

const UNSAFE_METHODS = new Set(["POST", "PUT", "PATCH", "DELETE"]);

export const httpRequest = defineNode({
  type: "HttpRequest",
  title: "HTTP request",
  description: "Calls an HTTP API and returns its response.",
  icon: "Globe",
  kind: "action",
  acceptsLarge: true,
  config,
  publishedConfig,
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
    rejects: {
      config: { url: "https://example.com", body: { type: "json" } },
      path: "body.value",
    },
  },
  async run({ config, signal, idempotencyKey, fetch, now, evaluate }) {
    const { method, timeoutMs } = config;
    const url = withQuery(config.url, config.query);
    const body = config.body && encodeBody(config.body);
    const headers = new Map<string, string>();
    if (UNSAFE_METHODS.has(method)) headers.set("idempotency-key", idempotencyKey);
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
      // A redirect must not downgrade https to http.
      allowHttp: /^http:/i.test(url),
      signal,
    };
    const response = await fetch(request).catch((error: Error & { code?: unknown }) => {
      if (typeof error.code !== "string" || !PERMANENT_OUTBOUND_ERRORS.has(error.code)) throw error;
      throw new Permanent(error.message, { code: error.code, cause: error });
    });
    if (isStatusIn(response.status, config.failures)) {
      const { host = "" } = URL.parse(response.url) ?? {};
      throw responseError(`${method} ${host}`, response, now());
    }
    return { output: await readOutput(response, { evaluate }) };
  },
});
