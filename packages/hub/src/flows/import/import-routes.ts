/** Imports all flows of an app, for `signalbox flows push` and `signalbox import-flows`. */
import { flowImportApi } from "@signalbox/contract/flow-import.ts";
import { appSchema } from "@signalbox/rules/flows/model.ts";
import { errorResponse } from "../../kernel/http/problem-response.ts";
import { implement, type Route } from "../../kernel/http/route.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import type { AppImports } from "./import-app.ts";

export const importRoutes = ({ importApp }: AppImports): Route[] => [
  implement(flowImportApi.import, async ({ tenant, param, body, access }) => {
    const { flows, replace, strict_ids: strictIds, name, description } = body;
    const slug = param("app");
    const app = appSchema.parse({ slug, name: name ?? slug, description: description ?? "" });
    const policy = { replace, strictIds };
    try {
      const publishBy = body.publish ? access.name : undefined;
      const imported = await importApp(tenant, { app, flows }, policy, publishBy);
      return { json: { app: slug, flows: imported } };
    } catch (error) {
      // The message names the flow and the field.
      if (error instanceof RequestError) return errorResponse(error, error.message);
      throw error;
    }
  }),
];
