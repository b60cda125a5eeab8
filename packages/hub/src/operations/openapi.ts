/** Serves the OpenAPI document. */
import { metaApi } from "@signalbox/contract/meta.ts";
import { type OpenApiInput, openApi } from "@signalbox/contract/openapi.ts";
import type { Hono } from "hono";
import { baseUrl } from "../kernel/access/authorize-request.ts";
import type { HostCheck } from "../kernel/http/host-check.ts";
import { deniedResponse } from "../kernel/http/problem-response.ts";

export interface OpenApiOptions extends OpenApiInput {
  checkHost: HostCheck;
  publicUrl: string | undefined;
}

/** Adds `GET /api/openapi.json`. It needs no token, like any documentation. */
export function addOpenApiRoute(app: Hono, options: OpenApiOptions): void {
  const { checkHost, publicUrl } = options;
  let document: ReturnType<typeof openApi> | undefined;
  app.get(metaApi.openApi.path, (c) => {
    const denied = checkHost(c.req.header("host") ?? "");
    if (denied) return deniedResponse(denied);
    document ??= openApi(options);
    return Response.json({ ...document, servers: [{ url: baseUrl(c.req, publicUrl) }] });
  });
}
