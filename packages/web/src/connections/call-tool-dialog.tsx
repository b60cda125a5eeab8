/** Calls a tool of a connection. Its schema draws the form; the arguments can also be given as JSON. */
import type { Json, JsonObject } from "@signalbox/rules/json.ts";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Play } from "lucide-react";
import { useId, useMemo, useState } from "react";
import { api, path } from "../api/client.ts";
import type { CalledTool, ConnectionTool } from "../api/types.ts";
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
import { plainSchema } from "./plain-schema.ts";
import { argumentProblems, firstArguments } from "./tool-arguments.ts";

const ANYTHING: JsonObject = { type: "object" };
const NONE: ReadonlyMap<string, string> = new Map();

const inWords = (problems: ReadonlyMap<string, string>): string | undefined =>
  problems.size === 0
    ? undefined
    : [...problems].map(([at, message]) => (at ? `${at}: ${message}` : message)).join("; ");

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
    queryFn: () => api.get<{ items: ConnectionTool[] }>(path`/api/connections/${connection}/tools`),
  });
  const tool = tools.data?.items.find((each) => each.name === name);
  const schema = tool?.inputSchema ?? ANYTHING;
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
  const drawn = useMemo(() => plainSchema(schema), [schema]);
  const hasFields = Object.keys(drawn.properties ?? {}).length > 0;
  const [mode, setMode] = useState<"form" | "json">(hasFields ? "form" : "json");
  const [value, setValue] = useState(() => firstArguments(drawn));
  const [text, setText] = useState("{}");
  /** Fields are marked once the call was tried. */
  const [isTried, setTried] = useState(false);

  const given: ReadObject = useMemo(
    () => (mode === "form" ? { value } : readObject(text)),
    [mode, value, text],
  );
  const rules = mode === "form" ? drawn : schema;
  const problems = useMemo(
    () => ("value" in given ? argumentProblems(rules, given.value) : NONE),
    [rules, given],
  );
  const context = useMemo(
    () => ({ onReference: undefined, problems: isTried ? problems : NONE }),
    [isTried, problems],
  );
  const call = useMutation({
    mutationFn: async (args: JsonObject) => {
      const start = performance.now();
      const result = await api.post<CalledTool>(
        path`/api/connections/${connection}/tools/${name}`,
        { arguments: args },
      );
      return { result, ms: performance.now() - start };
    },
  });
  /** What is not JSON yet stays in its field. */
  const switchTo = (next: typeof mode) => {
    if (!("value" in given)) return;
    if (next === "json") setText(JSON.stringify(given.value, null, 2));
    else setValue(given.value);
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
            disabled={"error" in given}
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
          setTried(true);
          if ("value" in given && problems.size === 0) call.mutate(given.value);
        }}
      >
        {hasFields && (
          <div className="flex">
            <Segments
              label="How to give the arguments"
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
            <SchemaForm schema={drawn} value={value} onChange={setValue} />
            {context.problems.has("") && (
              <p role="alert" className="type-meta text-red">
                {context.problems.get("")}
              </p>
            )}
          </PanelProvider>
        ) : (
          <Field
            label="Arguments"
            hint={hasFields ? undefined : "The tool names no arguments."}
            error={"error" in given ? given.error : inWords(context.problems)}
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
  return (
    <section aria-label="Result" className="flex flex-col gap-2 border-line border-t pt-3">
      <h3 className="type-label text-ink-2">Result after {duration(ms)}</h3>
      {result.isError && (
        <p role="alert" className="wrap-anywhere rounded-tile bg-red-tint px-3 py-2 text-red">
          {textOf(result) || "The tool reported an error."}
        </p>
      )}
      <JsonTree value={result as unknown as Json} label="result" maxRows={16} />
    </section>
  );
}

const textOf = ({ content }: CalledTool): string =>
  content
    .flatMap(({ text }) => (typeof text === "string" ? [text] : []))
    .join("\n")
    .slice(0, 2_000);
