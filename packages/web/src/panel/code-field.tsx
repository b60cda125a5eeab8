/** A field for code. The editor loads when it is needed. */
import { lazy, Suspense } from "react";
import { Field, type FieldProps, TextArea } from "../ui/field.tsx";

const CodeEditor = lazy(() => import("./code-editor.tsx"));

export function CodeField({
  language,
  value,
  onChange,
  ...field
}: Omit<FieldProps, "children"> & {
  language: "javascript" | "jsonata" | "json";
  value: string;
  onChange: (text: string) => void;
}) {
  return (
    <Field {...field}>
      {(control) => (
        <Suspense fallback={<TextArea id={control.id} code readOnly rows={6} value={value} />}>
          <CodeEditor
            id={control.id}
            label={typeof field.label === "string" ? field.label : "Code"}
            language={language}
            value={value}
            onChange={onChange}
          />
        </Suspense>
      )}
    </Field>
  );
}
