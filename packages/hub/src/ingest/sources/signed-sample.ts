/** Encodes and signs a sample as its sender does, for `signalbox send` and tests. */
import type { JsonObject } from "@signalbox/rules/json.ts";
import { type MakeHmacKey, utf8 } from "../../lib/hmac.ts";
import { makeKey } from "../signatures.ts";
import type { Sample, SourceDefinition } from "../source.ts";

export interface Signing {
  now: number;
  /** The delivery id, for schemes that sign it. */
  id: string;
  makeHmacKey?: MakeHmacKey;
  config?: Record<string, unknown>;
}

/** Without a secret the sample is not signed, for hubs that allow it. */
export async function signSample(
  source: SourceDefinition,
  sample: Sample,
  secret: string | undefined,
  { now, id, makeHmacKey, config = {} }: Signing,
): Promise<{ headers: Record<string, string>; body: Uint8Array }> {
  const body = encode(sample);
  if (secret === undefined) return { headers: sample.headers, body };
  const scheme = source.signature(source.config?.parse(config) ?? {});
  const signature = await scheme.sign({ body, now, id }, makeKey(scheme, secret, makeHmacKey));
  return { headers: { ...sample.headers, ...signature }, body };
}

const encode = ({ headers, body }: Sample): Uint8Array =>
  utf8(
    headers["content-type"] === "application/x-www-form-urlencoded"
      ? new URLSearchParams(fieldsOf(body)).toString()
      : JSON.stringify(body),
  );

/** The inverse of `decodeForm`: a text becomes a field, any other value becomes JSON. */
const fieldsOf = (body: JsonObject): [string, string][] =>
  Object.entries(body).map(([name, value]) => [
    name,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
