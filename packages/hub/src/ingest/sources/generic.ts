/**
 * Any sender that posts JSON or a form. By default it signs as GitHub does
 * (`X-Hub-Signature-256: sha256=<hex>`) or sends the secret as a bearer token; both are configurable.
 */
import { z } from "zod";
import { type Extractor, either, field, fixed, header, type ParsedRequest } from "../extractor.ts";
import { bearer, firstOf, hmacSha256, type SignatureScheme, sharedToken } from "../signatures.ts";
import { defineSource } from "../source.ts";
import { summarizePlain } from "./plain-summary.ts";

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

const config = z
  .strictObject({
    mode: z
      .enum(["hmac", "bearer"], 'must be "hmac" or "bearer"')
      .optional()
      .describe(
        "How webhooks are verified. Default: by HMAC if its header is present, else by token.",
      ),
    header: headerName
      .optional()
      .describe("The header with the signature or the token. Default: X-Hub-Signature-256."),
    prefix: z
      .string()
      .max(50)
      .optional()
      .describe("The text before the signature or the token in the header, such as sha256=."),
    encoding: z
      .enum(["hex", "base64"], 'must be "hex" or "base64"')
      .optional()
      .describe("How the signature is written. Default: hex."),
    idHeader: storedHeader
      .optional()
      .describe("The header with the delivery id. Default: Idempotency-Key, otherwise webhook-id."),
    idField: fieldPath
      .optional()
      .describe("Instead: the field of the body with the delivery id, such as event.id."),
    typeHeader: storedHeader.optional().describe("The header with the type of the event."),
    typeField: fieldPath
      .optional()
      .describe("Instead: the field of the body with the type, such as event.type."),
    type: z
      .string()
      .min(1, "must not be empty")
      .max(200)
      .optional()
      .describe('Instead: one type for all events. Default: "event".'),
  })
  .superRefine((given, context) => {
    const addIssue = (path: keyof typeof given, message: string) =>
      context.addIssue({ code: "custom", path: [path], message });
    if (given.idHeader && given.idField) addIssue("idField", "give idHeader or idField, not both");
    const types = (["typeHeader", "typeField", "type"] as const).filter((name) => given[name]);
    if (types[1]) addIssue(types[1], `give only one of ${types.join(", ")}`);
    if (given.mode === "bearer" && given.encoding)
      addIssue("encoding", 'is only for mode "hmac": a token has no encoding');
    if (given.mode === "bearer" && given.header)
      for (const name of ["idHeader", "typeHeader"] as const)
        if (given[name]?.toLowerCase() === given.header.toLowerCase())
          addIssue(name, "must not be the header with the token, because its value is stored");
  });

type Config = z.infer<typeof config>;

function signature(given: Config): SignatureScheme {
  if (given.mode === "bearer")
    return given.header
      ? sharedToken({ header: given.header, prefix: given.prefix ?? "" })
      : bearer;
  const hmac = hmacSha256({
    header: given.header ?? "X-Hub-Signature-256",
    prefix: given.prefix ?? (given.header ? "" : "sha256="),
    encoding: given.encoding ?? "hex",
  });
  return given.mode === "hmac" ? hmac : firstOf(hmac, bearer);
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

/** Uses the extractor from the endpoint's config. */
const configured = (extractor: (given: Config) => Extractor): Extractor => ({
  describe: "the header or field that the endpoint's config names",
  reason: "missing_field",
  find: (request: ParsedRequest) => extractor(request.config as Config).find(request),
});

export const generic = defineSource({
  id: "generic",
  title: "Generic webhook",
  secret: {
    issuedBy: "you",
    setup:
      "In the sender's settings, paste the URL and the secret. The sender signs with the secret (HMAC-SHA256), or sends it as a bearer token.",
  },
  config,
  signature: (given) => signature(given as Config),
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
