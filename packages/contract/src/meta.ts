/** Health, metrics, and the OpenAPI document. */
import { z } from "zod";
import { route } from "./route.ts";

const tag = "meta";
const statusView = <const Status extends string>(status: Status) =>
  z.object({ status: z.literal(status) });

export const metaApi = {
  health: route({
    method: "get",
    path: "/healthz",
    summary: "Check whether the process responds",
    tag,
    scope: undefined,
    response: { status: 200, schema: statusView("ok") },
  }),
  ready: route({
    method: "get",
    path: "/readyz",
    summary: "Check whether the hub accepts requests and can write to its database",
    tag,
    scope: undefined,
    response: { status: 200, schema: statusView("ready") },
  }),
  metrics: route({
    method: "get",
    path: "/metrics",
    summary: "Get the metrics in the Prometheus format",
    tag,
    scope: undefined,
    optionalScope: "metrics:read",
    response: { status: 200, type: "text/plain" },
  }),
  openApi: route({
    method: "get",
    path: "/api/openapi.json",
    summary: "This document",
    tag,
    scope: undefined,
    response: { status: 200, schema: z.record(z.string(), z.json()) },
  }),
};
