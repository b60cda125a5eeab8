/** How an endpoint verifies its webhooks and names their events: a form drawn from the kind's schema. */
import type { JsonObject } from "@signalbox/rules/json.ts";
import { useMemo } from "react";
import { fieldErrors } from "../api/problem.ts";
import { PanelProvider } from "../panel/panel-context.ts";
import { SchemaForm } from "../panel/schema-form.tsx";

export function SourceConfig({
  schema,
  value,
  error,
  onChange,
}: {
  schema: JsonObject;
  value: JsonObject;
  /** Of the request that was rejected. */
  error: unknown;
  onChange: (value: JsonObject) => void;
}) {
  const context = useMemo(
    () => ({ onReference: undefined, problems: fieldErrors(error) }),
    [error],
  );
  return (
    <fieldset className="flex min-w-0 flex-col gap-3 border-line border-t pt-3">
      <legend className="pr-2 type-label text-ink-2">Signature, id and type</legend>
      <PanelProvider value={context}>
        <SchemaForm schema={schema} path="config" value={value} onChange={onChange} />
      </PanelProvider>
    </fieldset>
  );
}
