/** Authorizes requests for `/metrics`, whose numbers concern the whole hub. */

import type { AuthorizeRequest } from "../kernel/access/authorize-request.ts";
import { Denied } from "../kernel/access/authorizer.ts";
import { EVERY_TENANT, type Scope, type TokenLookup } from "../kernel/access/scopes.ts";

const METRICS_SCOPE: Scope = "metrics:read";

export interface AuthorizeMetricsOptions {
  authorizeRequest: AuthorizeRequest;
  tokens: TokenLookup;
  tenancy: "single" | "github";
}

export function createAuthorizeMetrics({
  authorizeRequest,
  tokens,
  tenancy,
}: AuthorizeMetricsOptions): (request: Request) => Promise<Denied | undefined> {
  const tenant = tenancy === "github" ? ` --tenant '${EVERY_TENANT}'` : "";
  const fix = `\`npx signalbox token create prometheus --scope ${METRICS_SCOPE}${tenant}\` creates a token for them. SIGNALBOX_METRICS=open allows requests without one.`;
  return async (request) => {
    const access = await authorizeRequest(request, { scope: METRICS_SCOPE, needsTenant: false });
    if (access instanceof Denied)
      return access.status === 401 || access.code === "insufficient_scope"
        ? new Denied(
            access.status,
            access.code,
            // The reason why a token is not valid, such as its length.
            `${access.code === "token_missing" ? "" : `${access.detail} `}The metrics of this hub need a token with the scope ${METRICS_SCOPE}. ${fix}`,
            access.headers,
          )
        : access;
    if (tenancy === "single") return undefined;
    const token = await tokens.getToken(access.token);
    return token?.tenants.includes(EVERY_TENANT)
      ? undefined
      : new Denied(
          403,
          "forbidden",
          `The metrics concern all tenants, but the token is only valid for some. ${fix}`,
        );
  };
}
