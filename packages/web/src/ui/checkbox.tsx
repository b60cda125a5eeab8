import { Check, Minus } from "lucide-react";
import { Checkbox as RadixCheckbox } from "radix-ui";

export function Checkbox({
  checked,
  onChange,
  label,
  tabIndex,
}: {
  checked: boolean | "indeterminate";
  onChange: (checked: boolean) => void;
  label: string;
  tabIndex?: number;
}) {
  const Icon = checked === "indeterminate" ? Minus : Check;
  return (
    <RadixCheckbox.Root
      className="checkbox"
      checked={checked}
      onCheckedChange={(value) => onChange(value === true)}
      aria-label={label}
      tabIndex={tabIndex}
    >
      <RadixCheckbox.Indicator>
        <Icon className="icon" aria-hidden />
      </RadixCheckbox.Indicator>
    </RadixCheckbox.Root>
  );
}
