/** Routes that return the whole inputs and outputs of runs and steps. Other routes return previews of large values. */

import { runValueApi } from "@signalbox/contract/runs.ts";
import { rangeResponse } from "../../kernel/http/range.ts";
import { implement, type Route, type RouteRequest } from "../../kernel/http/route.ts";
import { utf8 } from "../../kernel/lib/bytes.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import type { Store } from "../../store.ts";
import type { ValueKey } from "./model.ts";

export function runValueRoutes(store: Pick<Store, "measureValue" | "readValue">): Route[] {
  const read = async (
    { tenant, header, reserveBytes }: Pick<RouteRequest, "tenant" | "header" | "reserveBytes">,
    { run, nth, field }: { run: string; nth?: string; field: ValueKey["field"] },
  ): Promise<Response> => {
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
  };
  return [
    implement(runValueApi.input, (request) =>
      read(request, { run: request.param("run"), field: "input" }),
    ),
    implement(runValueApi.inputOfStep, (request) =>
      read(request, { run: request.param("run"), nth: request.param("nth"), field: "input" }),
    ),
    implement(runValueApi.output, (request) =>
      read(request, { run: request.param("run"), field: "output" }),
    ),
    implement(runValueApi.outputOfStep, (request) =>
      read(request, { run: request.param("run"), nth: request.param("nth"), field: "output" }),
    ),
  ];
}
