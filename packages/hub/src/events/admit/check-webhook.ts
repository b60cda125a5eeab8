/** Checks the method and the headers of a webhook request, before its body is read. */
import { checkContentEncoding, evidenceOfRemoteOrigin } from "../../kernel/http/check-request.ts";
import { mediaType } from "../../kernel/http/decode.ts";
import type { IngestOutcome, Rejection } from "../../kernel/http/ingest-outcome.ts";
import { rejection } from "../../kernel/http/ingest-outcome.ts";
import type { IncomingRequest } from "./incoming-request.ts";
import { secretVariable } from "./secret-variable.ts";
import type { SourceDefinition } from "./source.ts";

type GetHeader = (name: string) => string | undefined;

export function checkMethod(
  { method }: IncomingRequest,
  source: SourceDefinition,
  header: GetHeader,
): IngestOutcome | undefined {
  if (method === "POST") return undefined;
  if (method === "OPTIONS" && source.handshake) return source.handshake(header);
  const allow = source.handshake ? "POST, OPTIONS" : "POST";
  return rejection("method_not_allowed", `Send webhooks with POST, not ${method}.`, { allow });
}

export function checkContentType(
  source: SourceDefinition,
  header: GetHeader,
): Rejection | undefined {
  const badEncoding = checkContentEncoding(header);
  if (badEncoding) return badEncoding;
  const contentType = header("content-type");
  return source.accepts(mediaType(contentType ?? ""))
    ? undefined
    : rejection(
        "unsupported_media_type",
        `${source.title} sends ${source.acceptedTypes}, but the content type is ${contentType ? `"${contentType.slice(0, 100)}"` : "missing"}.`,
      );
}

/** Decides whether an endpoint without a secret accepts the request. */
export function checkUnsigned(
  request: IncomingRequest,
  source: SourceDefinition,
  allowUnsigned: boolean,
): Rejection | undefined {
  if (!allowUnsigned)
    return rejection(
      "no_secret",
      `No secret is configured for ${source.title}, so its webhooks cannot be verified. Set ${secretVariable(source.id)}, or add an endpoint with \`npx signalbox source add ${source.id}\`.`,
    );
  const evidence = evidenceOfRemoteOrigin(request);
  if (evidence === undefined) return undefined;
  return rejection(
    "browser_origin",
    `Without a secret this hub accepts webhooks only from programs on this machine, but ${evidence}. Set ${secretVariable(source.id)} here and at the sender.`,
  );
}
