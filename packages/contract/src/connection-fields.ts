/** The fields of a connection in requests. */
import { z } from "zod";

const string = () =>
  z.string({
    error: ({ input }) => (input === undefined ? "is missing" : "must be a string"),
  });

const text = (max: number) => limitText(string(), max);

/** Removes spaces at both ends. */
const trimmedText = (max: number) => limitText(string().trim(), max);

const limitText = (schema: z.ZodString, max: number) =>
  schema.min(1, "must not be empty").max(max, `must have at most ${max} characters`);

/** The headers that the hub or the HTTP client sets. */
const RESERVED_HEADERS = new Set([
  "accept",
  "connection",
  "content-length",
  "content-type",
  "host",
  "mcp-method",
  "mcp-name",
  "mcp-protocol-version",
  "mcp-session-id",
  "transfer-encoding",
  "x-mesh-token",
]);

const headerValue = text(8_000).regex(
  /^[\t\x20-\x7e]+$/,
  "must consist of printable ASCII characters",
);

const httpUrl = z
  .url({ protocol: /^https?$/, error: "must be an http(s) URL" })
  .max(2_000, "must have at most 2000 characters");

/** For an invalid name, the message of the rule that it violates. Otherwise the value is no object. */
const recordError =
  (notAnObject: string): z.core.$ZodErrorMap =>
  (issue) =>
    issue.code === "invalid_key" ? issue.issues[0]?.message : notAnObject;

const headers = z.record(
  z
    .string()
    .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}$/, "must be the name of a header")
    .refine((name) => !RESERVED_HEADERS.has(name.toLowerCase()), "is set by the hub: remove it")
    .refine(
      (name) => name.toLowerCase() !== "authorization",
      "is set by the hub: for a token use auth",
    ),
  headerValue,
  { error: recordError("must be an object of header names and values") },
);

const oauth = z
  .strictObject({
    type: z.literal("oauth"),
    grant: z
      .enum(
        ["authorization_code", "client_credentials"],
        'must be "authorization_code" or "client_credentials"',
      )
      .optional()
      .describe(
        "`authorization_code`: a person authorizes the hub in the web UI. By default `client_credentials` if there is a client_secret, else `authorization_code`.",
      ),
    client_id: text(1_000)
      .optional()
      .describe("By default, the hub registers at the authorization server."),
    client_secret: text(8_000).optional(),
    token_url: httpUrl
      .optional()
      .describe("The token endpoint; by default discovered from the metadata of the server"),
    scope: text(2_000).optional(),
    audience: text(2_000).optional(),
  })
  .superRefine((fields, context) => {
    const addProblem = (path: keyof OAuth, message: string) =>
      context.addIssue({ code: "custom", path: [path], message });
    const isClientGrant = grantTypeOf(fields) === "client_credentials";
    for (const field of ["client_id", "client_secret"] as const)
      if (
        fields[field] === undefined &&
        (isClientGrant || (field === "client_id" && fields.client_secret))
      )
        addProblem(field, "is missing");
    for (const field of ["token_url", "audience"] as const)
      if (fields[field] !== undefined && !isClientGrant)
        addProblem(field, "is only possible with the grant client_credentials");
  });

const auth = z.discriminatedUnion(
  "type",
  [z.strictObject({ type: z.literal("bearer"), token: headerValue }), oauth],
  'must have the type "bearer" or "oauth"',
);

const env = z.record(
  z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,200}$/, "must be the name of an environment variable"),
  string().max(32_000, "must have at most 32000 characters"),
  { error: recordError("must be an object of variable names and values") },
);

/** The fields of the credentials in the request that creates or changes a connection. */
export const credentialFields = {
  headers: headers.optional(),
  auth: auth.optional(),
  env: env.optional(),
};

export type OAuth = z.infer<typeof oauth>;

export const grantTypeOf = ({ grant, client_secret }: Pick<OAuth, "grant" | "client_secret">) =>
  grant ?? (client_secret === undefined ? "authorization_code" : "client_credentials");

const name = trimmedText(200).regex(/^\P{Cc}*$/u, "must not contain control characters");

const url = text(2_000).superRefine((value, context) => {
  const problem = urlProblem(value);
  if (problem) context.addIssue({ code: "custom", message: problem });
});

function urlProblem(value: string): string | undefined {
  const parsed = URL.parse(value);
  if (!parsed || !/^https?:$/.test(parsed.protocol))
    return "must be the http(s) URL of an MCP server, such as https://example.com/mcp";
  if (parsed.username || parsed.password)
    return "must not contain credentials: use auth or headers";
  return parsed.hash ? "must not contain a fragment (#…)" : undefined;
}

const targetFields = {
  url: url.optional().describe("The URL of an MCP server that speaks Streamable HTTP."),
  command: text(1_000)
    .optional()
    .describe("Instead of `url`: a program on the hub's machine that speaks MCP over stdio."),
  args: z
    .array(string().max(4_000, "must have at most 4000 characters"), "must be a list of strings")
    .max(100, "must have at most 100 items")
    .optional()
    .describe("The arguments of `command`. No shell interprets them."),
};

export const newConnectionFields = z.strictObject({ name, ...targetFields, ...credentialFields });

export type NewConnectionFields = z.output<typeof newConnectionFields>;

export const changedConnectionFields = z.strictObject({
  name: name.optional(),
  ...targetFields,
  headers: credentialFields.headers.nullable().describe("null removes all headers."),
  auth: credentialFields.auth.nullable().describe("null removes the credentials."),
  env: credentialFields.env.nullable().describe("null removes all variables."),
});

export type ChangedConnectionFields = z.output<typeof changedConnectionFields>;
