/** Acts as the sender of a webhook, for `signalbox send`. */

import { type Sender, UsageError } from "@signalbox/cli/src/index.ts";
import { type SourceDefinition, secretVariable } from "../../events/admit/source.ts";
import { sources } from "../../events/sources/index.ts";
import { makeSample, signSample } from "../../events/sources/signed-sample.ts";
import { createIds } from "../../kernel/lib/ids.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import { nodeHmacKey } from "../node/ports.ts";

const newId = createIds();

export const sender: Sender = {
  kinds: sources.map(({ id, title, secret: { issuedBy, setup } }) => ({
    id,
    title,
    secret: { issued_by: issuedBy, setup, variable: secretVariable(id) },
  })),
  checkSample(source, variant) {
    sampleOf(source, "", variant);
  },
  async signSample(source, { id = newId(), ...variant }, secret) {
    const { definition, sample } = sampleOf(source, id, variant);
    const options = { now: Date.now(), id, makeHmacKey: nodeHmacKey };
    return { id, ...(await signSample(definition, sample, secret, options)) };
  },
};

/** Throws a `UsageError` if there is no such sample. */
function sampleOf(source: string, id: string, variant: Parameters<SourceDefinition["sample"]>[1]) {
  const definition = sources.find((candidate) => candidate.id === source);
  if (!definition) throw new UsageError(`Unknown source "${source}".`);
  try {
    return { definition, sample: makeSample(definition, id, variant ?? {}) };
  } catch (error) {
    throw error instanceof RequestError ? new UsageError(error.message) : error;
  }
}
