/**
 * Sends a sample webhook to one of the hub's own endpoints, for a caller whose token allows it. The
 * sample is signed with the endpoint's secret and passes the same checks as any webhook, so no secret
 * leaves the hub. Three checks are skipped, because the caller is authenticated: the sender's address,
 * the rate, and whether unsigned webhooks are allowed.
 */

import type { IngestOutcome } from "../../kernel/http/ingest-outcome.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import type { Store } from "../../store.ts";
import type { SourceEndpoint } from "../endpoints/model.ts";
import { encodeSample, makeSample } from "../sources/signed-sample.ts";
import type { Endpoint, Endpoints } from "./endpoints.ts";
import type { IncomingRequest } from "./receive-request.ts";
import type { SourceDefinition } from "./source.ts";

interface SampleRequest {
  tenant: string;
  source: string;
  type?: string | undefined;
  action?: string | undefined;
  /** The delivery id. */
  id?: string | undefined;
  /** The id of an endpoint with a key. By default, the hub chooses an endpoint. */
  endpoint?: string | undefined;
}

interface SampleResult {
  outcome: IngestOutcome;
  /** The delivery id. */
  delivery: string;
  /** False if the endpoint has no secret. */
  signed: boolean;
}

type SendSample = (request: SampleRequest) => Promise<SampleResult>;

export interface SendSampleOptions {
  endpoints: Endpoints;
  store: Pick<Store, "listSources">;
  receive(request: IncomingRequest): Promise<IngestOutcome>;
  newId: () => string;
  now: () => number;
}

export function createSendSample(options: SendSampleOptions): SendSample {
  const { endpoints, store, receive, newId, now } = options;

  /**
   * Returns the key of the requested endpoint. By default, that is the endpoint without a key if it has
   * a secret, otherwise the newest endpoint with a key. Undefined means the endpoint without a key.
   */
  async function keyOf(
    { tenant, endpoint: id }: SampleRequest,
    source: SourceDefinition,
  ): Promise<string | undefined> {
    const stored = (await store.listSources(tenant)).filter(({ kind }) => kind === source.id);
    if (id !== undefined) {
      const requested = stored.find((endpoint) => endpoint.id === id);
      if (requested) return requested.key;
      throw new RequestError(
        "not_found",
        "endpoint",
        `There is no endpoint ${id} of ${source.title}.`,
      );
    }
    const shared = await endpoints.find(source.id, undefined);
    return shared && shared.signingKeys.length > 0 ? undefined : findNewest(stored)?.key;
  }

  return async (request) => {
    const { tenant, type, action } = request;
    const source = endpoints.source(request.source);
    if (!source)
      throw new RequestError("invalid", "source", `There is no source "${request.source}".`);
    const delivery = request.id ?? newId();
    const sample = makeSample(source, delivery, { type, action, now: now() });
    const key = await keyOf(request, source);
    const endpoint = await endpoints.find(source.id, key);
    const body = encodeSample(sample);
    const signature = endpoint && (await sign(endpoint, { body, now: now(), id: delivery }));
    const headers = { ...sample.headers, ...signature };
    const outcome = await receive({
      ...toRequest(headers, body),
      source: source.id,
      key,
      sample: { tenant },
    });
    return { outcome, delivery, signed: signature !== undefined };
  };
}

const findNewest = (sources: readonly SourceEndpoint[]): SourceEndpoint | undefined =>
  sources.toSorted((a, b) => b.created_at - a.created_at)[0];

function sign(
  { scheme, signingKeys }: Endpoint,
  toSign: { body: Uint8Array; now: number; id: string },
): Promise<Record<string, string>> | Record<string, string> | undefined {
  const newestValid = signingKeys.findLast(
    ({ expiresAt }) => expiresAt === null || expiresAt > toSign.now,
  );
  return newestValid && scheme.sign(toSign, newestValid.key);
}

function toRequest(
  headers: Record<string, string>,
  body: Uint8Array,
): Pick<IncomingRequest, "method" | "address" | "header" | "headerNames" | "body"> {
  const values = new Headers(headers);
  return {
    method: "POST",
    address: "sample",
    header(name) {
      const value = values.get(name);
      return value === null ? [] : [value];
    },
    headerNames: () => [...values.keys()],
    body: () => body,
  };
}
