/** Routes that return the whole inputs and outputs of runs and steps. Other routes return previews of large values. */

import { rangeResponse } from "../../kernel/http/range.ts";
import { defineRoute, type Route } from "../../kernel/http/route.ts";
import { utf8 } from "../../kernel/lib/bytes.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import type { Store } from "../../store.ts";
import type { ValueKey } from "./model.ts";

const FIELDS = ["input", "output"] as const;

export const runValueRoutes = (store: Pick<Store, "measureValue" | "readValue">): Route[] =>
  FIELDS.flatMap((field) => [
    valueRoute(store, field, `/api/runs/:run/${field}`, `Get the whole ${field} of a run`),
    valueRoute(
      store,
      field,
      `/api/runs/:run/steps/:nth/${field}`,
      `Get the whole ${field} of a step`,
    ),
  ]);

const valueRoute = (
  store: Pick<Store, "measureValue" | "readValue">,
  field: ValueKey["field"],
  path: string,
  summary: string,
): Route =>
  defineRoute({
    method: "get",
    path,
    summary: `${summary}, or a part of it with Range`,
    tag: "runs",
    scope: "runs:read",
    response: { status: 200, type: "application/json" },
    async handle({ tenant, param, header, reserveBytes }) {
      const run = param("run");
      const nth = path.includes(":nth") ? param("nth") : undefined;
      const owner = nth === undefined ? `run ${run}` : `step ${nth} of the run ${run}`;
      const notFound = () => new RequestError("not_found", "run", `There is no ${owner}.`);
      if (nth !== undefined && !/^\d{1,9}$/.test(nth)) throw notFound();
      const key = { tenant, run, nth: nth === undefined ? undefined : Number(nth), field };
      const bytes = await store.measureValue(key);
      if (bytes === undefined) throw notFound();
      await reserveBytes(bytes);
      const text = await store.readValue(key);
      if (text === undefined) throw notFound();
      return rangeResponse(utf8(text), "application/json", header("range"));
    },
  });
