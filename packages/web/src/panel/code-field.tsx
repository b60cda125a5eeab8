/** A field for code. The editor loads when it is needed. */
import { Braces } from "lucide-react";
import { lazy, Suspense, useRef } from "react";
import { Button } from "../ui/button.tsx";
import { Field, type FieldProps, TextArea } from "../ui/field.tsx";
import { usePanel } from "./panel-context.ts";

const CodeEditor = lazy(() => import("./code-editor.tsx"));

export function CodeField({
  at = "",
  language,
  value,
  onChange,
  ...field
}: Omit<FieldProps, "children"> & {
  /** The path of the field in the node's parameters; empty if it has none. */
  at?: string;
  language: "javascript" | "jsonata" | "json";
  value: string;
  onChange: (text: string) => void;
}) {
  const { onReference } = usePanel();
  const insert = useRef<(text: string) => void>(undefined);
  return (
    <Field {...field}>
      {(control) => (
        <Suspense
          fallback={
            <TextArea aria-label="Loading the editor" code readOnly rows={6} value={value} />
          }
        >
          <CodeEditor
            id={control.id}
            label={typeof field.label === "string" ? field.label : "Code"}
            language={language}
            value={value}
            onChange={onChange}
            insert={insert}
          />
          {onReference && language !== "json" && (
            <div>
              <Button
                size="small"
                icon={Braces}
                onClick={() =>
                  onReference({ at, language, insert: (text) => insert.current?.(text) })
                }
              >
                Insert a reference
              </Button>
            </div>
          )}
        </Suspense>
      )}
    </Field>
  );
}
