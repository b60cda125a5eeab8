/** Imports all flows of an app, for `signalbox flows push` and `signalbox import-flows`. */

import { jsonObject } from "@signalbox/rules/flows/json-value.ts";
import { appSchema } from "@signalbox/rules/flows/model.ts";
import { z } from "zod";
import { route } from "./route.ts";

const flowReport = z.object({
  id: z.string(),
  name: z.string(),
  outcome: z.enum(["created", "replaced", "unchanged", "skipped"]),
  notes: z.array(z.string()).describe("One message for each change or problem."),
  published: z.int().optional().describe("The version that this import published."),
  not_published: z.string().optional().describe("Why the flow was not published."),
  errors: z.array(z.string()).describe("The errors that prevent publishing the draft."),
  warnings: z.array(z.string()),
});
export type FlowReport = z.output<typeof flowReport>;

export const flowImportApi = {
  import: route({
    method: "post",
    path: "/api/apps/:app/import",
    summary: "Import flows into an app: all of them or none. Creates the app if it does not exist",
    tag: "flows",
    scope: "admin",
    hasFlows: true,
    body: z.strictObject({
      name: appSchema.shape.name.optional().describe("The name of a new app."),
      description: appSchema.shape.description.unwrap().optional(),
      flows: z
        .array(jsonObject())
        .describe(
          "Flows in the current or a legacy format. An existing flow has the same id or name. On a hub with several tenants, a new flow gets a new id that is derived from its id and the tenant.",
        ),
      replace: z
        .boolean()
        .default(false)
        .describe("Replace the drafts of existing flows; otherwise they are skipped."),
      strict_ids: z
        .boolean()
        .default(false)
        .describe("Reject an id that a flow of another app has; otherwise the flow gets a new id."),
      publish: z.boolean().default(false).describe("Publish the flows that changed and are valid."),
    }),
    response: { status: 200, schema: z.object({ app: z.string(), flows: z.array(flowReport) }) },
  }),
};
