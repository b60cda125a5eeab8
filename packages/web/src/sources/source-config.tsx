/** The form of an endpoint's config, which sets how webhooks are verified and types are named. */
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
  /** The schema of the config, from the kind of the source. */
  schema: JsonObject;
  value: JsonObject;
  /** The error of the last request. Its messages about single fields are shown at the fields. */
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
