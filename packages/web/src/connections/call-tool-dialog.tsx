/** Calls a tool of a connection, with arguments from a form for the tool's schema, or from JSON. */

import type { CalledTool } from "@signalbox/contract";
import type { JsonObject } from "@signalbox/rules/json.ts";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Play } from "lucide-react";
import { useId, useMemo, useState } from "react";
import { api } from "../api/client.ts";
import { PanelProvider } from "../panel/panel-context.ts";
import { SchemaForm } from "../panel/schema-form.tsx";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { Field, TextArea } from "../ui/field.tsx";
import { duration } from "../ui/format.ts";
import { JsonTree } from "../ui/json-tree/json-tree.tsx";
import { type ReadObject, readObject } from "../ui/read-object.ts";
import { Segments } from "../ui/segments.tsx";
import { SkeletonRows } from "../ui/skeleton.tsx";
import { simplifySchema } from "./simplify-schema.ts";
import { argumentProblems, initialArguments } from "./tool-arguments.ts";

const ANY_OBJECT: JsonObject = { type: "object" };
const NO_PROBLEMS: ReadonlyMap<string, string> = new Map();

const joinProblems = (problems: ReadonlyMap<string, string>): string | undefined =>
  problems.size === 0
    ? undefined
    : [...problems].map(([path, message]) => (path ? `${path}: ${message}` : message)).join("; ");

export function CallToolDialog({
  connection,
  tool: name,
  onClose,
}: {
  connection: string;
  tool: string;
  onClose: () => void;
}) {
  const tools = useQuery({
    queryKey: ["connections", "tools", connection],
    queryFn: () => api.get("/api/connections/:connection/tools", { params: { connection } }),
  });
  const tool = tools.data?.items.find((each) => each.name === name);
  const schema = tool?.inputSchema ?? ANY_OBJECT;
  return tools.data ? (
    <CallDialog
      connection={connection}
      name={name}
      description={tool?.description}
      schema={schema}
      onClose={onClose}
    />
  ) : (
    <Dialog open onClose={onClose} title={`Call ${name}`}>
      {tools.error ? (
        <ErrorState error={tools.error} onRetry={() => void tools.refetch()} />
      ) : (
        <SkeletonRows rows={3} />
      )}
    </Dialog>
  );
}

function CallDialog({
  connection,
  name,
  description,
  schema,
  onClose,
}: {
  connection: string;
  name: string;
  description: string | undefined;
  schema: JsonObject;
  onClose: () => void;
}) {
  const formId = useId();
  const formSchema = useMemo(() => simplifySchema(schema), [schema]);
  const hasFields = Object.keys(formSchema.properties ?? {}).length > 0;
  const [mode, setMode] = useState<"form" | "json">(hasFields ? "form" : "json");
  const [value, setValue] = useState(() => initialArguments(formSchema));
  const [text, setText] = useState("{}");
  /** Problems are shown only after the user has submitted the form. */
  const [isSubmitted, setSubmitted] = useState(false);

  const parsed: ReadObject = useMemo(
    () => (mode === "form" ? { value } : readObject(text)),
    [mode, value, text],
  );
  const activeSchema = mode === "form" ? formSchema : schema;
  const problems = useMemo(
    () => ("value" in parsed ? argumentProblems(activeSchema, parsed.value) : NO_PROBLEMS),
    [activeSchema, parsed],
  );
  const context = useMemo(
    () => ({ onReference: undefined, problems: isSubmitted ? problems : NO_PROBLEMS }),
    [isSubmitted, problems],
  );
  const call = useMutation({
    mutationFn: async (args: JsonObject) => {
      const start = performance.now();
      const result = await api.post("/api/connections/:connection/tools/:tool", {
        params: { connection, tool: name },
        body: { arguments: args },
      });
      return { result, ms: performance.now() - start };
    },
  });
  /** Does nothing while the text is not a JSON object. */
  const switchTo = (next: typeof mode) => {
    if (!("value" in parsed)) return;
    if (next === "json") setText(JSON.stringify(parsed.value, null, 2));
    else setValue(parsed.value);
    setMode(next);
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Call ${name}`}
      description={description && <span className="wrap-anywhere line-clamp-4">{description}</span>}
      className="w-[640px]"
      actions={
        <>
          <Button onClick={onClose}>Close</Button>
          <Button
            type="submit"
            form={formId}
            look="primary"
            icon={Play}
            busy={call.isPending}
            disabled={"error" in parsed}
          >
            Call
          </Button>
        </>
      }
    >
      <form
        id={formId}
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          setSubmitted(true);
          if ("value" in parsed && problems.size === 0) call.mutate(parsed.value);
        }}
      >
        {hasFields && (
          <div className="flex">
            <Segments
              label="Format of the arguments"
              value={mode}
              options={[
                { value: "form", label: "Form" },
                { value: "json", label: "JSON" },
              ]}
              onChange={switchTo}
            />
          </div>
        )}
        {mode === "form" ? (
          <PanelProvider value={context}>
            <SchemaForm schema={formSchema} value={value} onChange={setValue} />
            {context.problems.has("") && (
              <p role="alert" className="type-meta text-red">
                {context.problems.get("")}
              </p>
            )}
          </PanelProvider>
        ) : (
          <Field
            label="Arguments"
            hint={hasFields ? undefined : "The schema of the tool has no arguments."}
            error={"error" in parsed ? parsed.error : joinProblems(context.problems)}
          >
            {(control) => (
              <TextArea
                {...control}
                code
                rows={Math.min(12, Math.max(4, text.split("\n").length))}
                value={text}
                onChange={({ target }) => setText(target.value)}
              />
            )}
          </Field>
        )}
        {call.error && <ErrorState error={call.error} compact />}
        {call.data && <Result result={call.data.result} ms={call.data.ms} />}
      </form>
    </Dialog>
  );
}

function Result({ result, ms }: { result: CalledTool; ms: number }) {
  const { structuredContent, ...fields } = result;
  return (
    <section aria-label="Result" className="flex flex-col gap-2 border-line border-t pt-3">
      <h3 className="type-label text-ink-2">Result after {duration(ms)}</h3>
      {result.isError && (
        <p role="alert" className="wrap-anywhere rounded-tile bg-red-tint px-3 py-2 text-red">
          {textOf(result) || "The tool reported an error."}
        </p>
      )}
      <JsonTree
        value={structuredContent ? { ...fields, structuredContent } : fields}
        label="result"
        maxRows={16}
      />
    </section>
  );
}

const textOf = ({ content }: CalledTool): string =>
  content
    .flatMap(({ text }) => (typeof text === "string" ? [text] : []))
    .join("\n")
    .slice(0, 2_000);
