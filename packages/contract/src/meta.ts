/** The hub itself: its document. */
import { z } from "zod";
import { route } from "./route.ts";

const tag = "meta";

export const metaApi = {
  openApi: route({
    method: "get",
    path: "/api/openapi.json",
    summary: "This document",
    tag,
    scope: undefined,
    response: { status: 200, schema: z.record(z.string(), z.json()) },
  }),
};
