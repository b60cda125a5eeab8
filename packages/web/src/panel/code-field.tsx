/** A field for code. The code editor is loaded on first use. */
import { Braces } from "lucide-react";
import { lazy, Suspense, useRef } from "react";
import { Button } from "../ui/button.tsx";
import { Field, type FieldProps, TextArea } from "../ui/field.tsx";
import type { Language } from "./code-errors.ts";
import { usePanel } from "./panel-context.ts";

const CodeEditor = lazy(() => import("./code-editor.tsx"));

export function CodeField({
  path = "",
  language,
  value,
  onChange,
  ...field
}: Omit<FieldProps, "children"> & {
  /** The path of the field in the node's parameters; empty if the field is not a parameter. */
  path?: string;
  language: Language;
  value: string;
  onChange: (text: string) => void;
}) {
  const { onReference } = usePanel();
  const insertText = useRef<(text: string) => void>(undefined);
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
            insert={insertText}
          />
          {onReference && language !== "json" && (
            <div>
              <Button
                size="small"
                icon={Braces}
                onClick={() =>
                  onReference({ path, language, insert: (text) => insertText.current?.(text) })
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
