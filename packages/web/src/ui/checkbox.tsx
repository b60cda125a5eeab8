import { Check, Minus } from "lucide-react";

/** A plain button instead of a Radix component, because lists render hundreds of checkboxes. */
export function Checkbox({
  checked,
  onChange,
  label,
  tabIndex,
}: {
  checked: boolean | "mixed";
  onChange: (checked: boolean) => void;
  label: string;
  tabIndex?: number;
}) {
  const Icon = checked === "mixed" ? Minus : Check;
  return (
    // biome-ignore lint/a11y/useSemanticElements: an input cannot show an icon
    <button
      type="button"
      role="checkbox"
      className="checkbox"
      aria-checked={checked}
      aria-label={label}
      tabIndex={tabIndex}
      onClick={() => onChange(checked !== true)}
    >
      {checked !== false && <Icon className="icon" aria-hidden />}
    </button>
  );
}
