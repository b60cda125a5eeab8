/**
 * Any sender that posts JSON or a form. By default it signs as GitHub does
 * (`X-Hub-Signature-256: sha256=<hex>`) or sends the secret as a bearer token; both are configurable.
 */
import { z } from "zod";
import {
  bearer,
  firstOf,
  hmacSha256,
  type SignatureScheme,
  sharedToken,
} from "../admit/signatures.ts";
import {
  defineSource,
  type Extractor,
  either,
  field,
  fixed,
  header,
  type ParsedRequest,
} from "../admit/source.ts";
import { summarizePlain } from "./summary.ts";

const headerName = z
  .string()
  .regex(
    /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/,
    "must be the name of a header, such as X-Signature",
  );

const storedHeader = headerName.refine(
  (name) => !/^(?:authorization|proxy-authorization|cookie)$/i.test(name),
  "must not be a header with credentials, because its value is stored",
);

const fieldPath = z
  .string()
  .regex(/^[^.]+(?:\.[^.]+)*$/, "must be names joined by dots, such as event.id")
  .max(200);

const configSchema = z
  .strictObject({
    mode: z
      .enum(["hmac", "bearer"], 'must be "hmac" or "bearer"')
      .optional()
      .describe(
        "How webhooks are verified. Default: hmac if the header of the signature is present, otherwise bearer.",
      ),
    header: headerName
      .optional()
      .describe(
        "The header with the signature or the token. Default: X-Hub-Signature-256 for hmac, Authorization for bearer.",
      ),
    prefix: z
      .string()
      .max(50)
      .optional()
      .describe("The text before the signature or the token in the header, such as sha256=."),
    encoding: z
      .enum(["hex", "base64"], 'must be "hex" or "base64"')
      .optional()
      .describe("The encoding of the signature. Default: hex."),
    idHeader: storedHeader
      .optional()
      .describe("The header with the delivery id. Default: Idempotency-Key, otherwise webhook-id."),
    idField: fieldPath
      .optional()
      .describe("The field of the body with the delivery id, such as event.id. Excludes idHeader."),
    typeHeader: storedHeader.optional().describe("The header with the type of the event."),
    typeField: fieldPath
      .optional()
      .describe("The field of the body with the type, such as event.type. Excludes typeHeader."),
    type: z
      .string()
      .min(1, "must not be empty")
      .max(200)
      .optional()
      .describe('One type for all events. Excludes typeHeader and typeField. Default: "event".'),
  })
  .superRefine((config, context) => {
    const addIssue = (path: keyof typeof config, message: string) =>
      context.addIssue({ code: "custom", path: [path], message });
    if (config.idHeader && config.idField) addIssue("idField", "set idHeader or idField, not both");
    const types = (["typeHeader", "typeField", "type"] as const).filter((name) => config[name]);
    if (types[1]) addIssue(types[1], `set only one of ${types.join(", ")}`);
    if (config.mode === "bearer" && config.encoding)
      addIssue("encoding", 'is only for mode "hmac": a token has no encoding');
    if (config.mode === "bearer" && config.header)
      for (const name of ["idHeader", "typeHeader"] as const)
        if (config[name]?.toLowerCase() === config.header.toLowerCase())
          addIssue(name, "must not be the header with the token, because its value is stored");
  });

type Config = z.infer<typeof configSchema>;

function signature(config: Config): SignatureScheme {
  if (config.mode === "bearer")
    return config.header
      ? sharedToken({ header: config.header, prefix: config.prefix ?? "" })
      : bearer;
  const hmac = hmacSha256({
    header: config.header ?? "X-Hub-Signature-256",
    prefix: config.prefix ?? (config.header ? "" : "sha256="),
    encoding: config.encoding ?? "hex",
  });
  return config.mode === "hmac" ? hmac : firstOf(hmac, bearer);
}

// Not X-Request-Id: proxies generate one per attempt, and callers share one among many requests.
const defaultId = either(header("Idempotency-Key"), header("webhook-id"));

function idExtractor({ idHeader, idField }: Config): Extractor {
  if (idHeader) return header(idHeader);
  return idField ? field(idField) : defaultId;
}

function typeExtractor({ typeHeader, typeField, type }: Config): Extractor {
  if (typeHeader) return header(typeHeader);
  return typeField ? field(typeField) : fixed(type ?? "event");
}

/** Finds a value with the extractor that the endpoint's config selects. */
const configured = (extractorOf: (config: Config) => Extractor): Extractor => ({
  describe: "the header or field that the endpoint's config names",
  reason: "missing_field",
  find: (request: ParsedRequest) => extractorOf(request.config as Config).find(request),
});

export const generic = defineSource({
  id: "generic",
  title: "Generic webhook",
  secret: {
    issuedBy: "you",
    setup:
      "In the sender's settings, paste the URL and the secret. The sender signs with the secret (HMAC-SHA256), or sends it as a bearer token.",
  },
  config: configSchema,
  signature: (config) => signature(config as Config),
  accepts: ["application/json", "application/x-www-form-urlencoded"],
  externalId: configured(idExtractor),
  idOptional: true, // webhooks without an id are not deduplicated
  eventType: either(configured(typeExtractor), fixed("event")),
  summarize: (_, body) => summarizePlain(body),
  sample: (id, { action = "changed" } = {}) => ({
    headers: { "content-type": "application/json", "idempotency-key": id },
    body: {
      action,
      title: "The lamp on track 3 is green",
      url: "https://signals.example.com/tracks/3/lamps/7",
    },
  }),
});
