/** A control with its label, hint and error, which ARIA attributes link for screen readers. */
import { type ComponentProps, type ReactNode, useId } from "react";
import { cx } from "./cx.ts";
import { withCode } from "./with-code.ts";

export interface FieldProps {
  label: ReactNode;
  hint?: ReactNode;
  error?: string | undefined;
  required?: boolean;
  className?: string | undefined;
  /** Renders the control. The attributes link it to its label, hint and error. */
  children: (control: {
    id: string;
    "aria-describedby": string | undefined;
    "aria-invalid": boolean | undefined;
    "aria-required": boolean | undefined;
  }) => ReactNode;
}

export function Field({ label, hint, error, required, className, children }: FieldProps) {
  const id = useId();
  const describedBy = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ");
  return (
    <div className={cx("flex min-w-0 flex-col gap-1", className)}>
      <label htmlFor={id} className="type-label text-ink-2">
        {label}
        {required && (
          <span className="text-ink-3" title="required">
            {" *"}
          </span>
        )}
      </label>
      {children({
        id,
        "aria-describedby": describedBy || undefined,
        "aria-invalid": error ? true : undefined,
        "aria-required": required || undefined,
      })}
      {hint && (
        <p id={`${id}-hint`} className="type-meta text-ink-3">
          {typeof hint === "string" ? withCode(hint) : hint}
        </p>
      )}
      {error && (
        <p id={`${id}-error`} role="alert" className="type-meta text-red">
          {error}
        </p>
      )}
    </div>
  );
}

export const TextInput = ({
  code,
  className,
  ...props
}: { code?: boolean } & ComponentProps<"input">) => (
  <input
    type="text"
    autoComplete="off"
    spellCheck={!code}
    {...props}
    className={cx("input", code && "code", className)}
  />
);

export const TextArea = ({
  code,
  className,
  ...props
}: { code?: boolean } & ComponentProps<"textarea">) => (
  <textarea
    rows={3}
    spellCheck={!code}
    {...props}
    className={cx("input", code && "code", className)}
  />
);

export const SelectInput = ({ className, ...props }: ComponentProps<"select">) => (
  <select {...props} className={cx("input", className)} />
);
