import type { JsonObject } from "@signalbox/rules/json.ts";

/** A webhook endpoint of one tenant. The caller encrypts the secrets; see kernel/lib/seal.ts. */
export interface SourceEndpoint {
  id: string;
  tenant: string;
  /** The id of the source definition, such as `github`. */
  kind: string;
  name: string;
  /** The last segment of the endpoint's URL. */
  key: string;
  config: JsonObject;
  secrets: SourceSecret[];
  created_at: number;
}

export interface SourceSecret {
  id: string;
  /** The encrypted secret. */
  sealed: string;
  created_at: number;
  expires_at: number | null;
}
