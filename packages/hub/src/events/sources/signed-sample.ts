/** Encodes and signs a sample as its sender does, for `signalbox send` and tests. */
import type { JsonObject } from "@signalbox/rules/json.ts";
import { utf8 } from "../../kernel/lib/bytes.ts";
import type { MakeHmacKey } from "../../kernel/lib/hmac.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import { makeSigningKey } from "../admit/signatures.ts";
import type { Sample, SampleVariant, SourceDefinition } from "../admit/source.ts";
import { githubSampleTypes } from "./github-sample.ts";

export interface Signing {
  now: number;
  /** The delivery id, for schemes that sign it. */
  id: string;
  makeHmacKey?: MakeHmacKey;
  config?: Record<string, unknown>;
}

/** Throws if the source has no sample of this type. */
export function makeSample(source: SourceDefinition, id: string, variant: SampleVariant): Sample {
  const sample = source.sample(id, variant);
  if (sample) return sample;
  const knownTypes = source.id === "github" ? ` Known types: ${githubSampleTypes.join(", ")}.` : "";
  throw new RequestError(
    "invalid",
    "type",
    `There is no sample of type "${variant.type}" for ${source.title}.${knownTypes}`,
  );
}

/** Without a secret, the sample is not signed: some hubs accept unsigned webhooks. */
export async function signSample(
  source: SourceDefinition,
  sample: Sample,
  secret: string | undefined,
  { now, id, makeHmacKey, config = {} }: Signing,
): Promise<{ headers: Record<string, string>; body: Uint8Array }> {
  const body = encodeSample(sample);
  if (secret === undefined) return { headers: sample.headers, body };
  const scheme = source.signature(source.config?.parse(config) ?? {});
  const signature = await scheme.sign(
    { body, now, id },
    makeSigningKey(scheme, secret, makeHmacKey),
  );
  return { headers: { ...sample.headers, ...signature }, body };
}

export const encodeSample = ({ headers, body }: Sample): Uint8Array =>
  utf8(
    headers["content-type"] === "application/x-www-form-urlencoded"
      ? new URLSearchParams(fieldsOf(body)).toString()
      : JSON.stringify(body),
  );

/** Encodes an object as form fields: strings unchanged, other values as JSON. */
const fieldsOf = (body: JsonObject): [string, string][] =>
  Object.entries(body).map(([name, value]) => [
    name,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
