import { Switch as RadixSwitch } from "radix-ui";

export function Switch({
  id,
  checked,
  onChange,
  label,
  disabled,
}: {
  id?: string;
  checked: boolean;
  onChange: (checked: boolean) => void;
  label: string;
  disabled?: boolean;
}) {
  return (
    <RadixSwitch.Root
      id={id}
      className="switch"
      checked={checked}
      onCheckedChange={onChange}
      aria-label={label}
      disabled={disabled ?? false}
    >
      <RadixSwitch.Thumb />
    </RadixSwitch.Root>
  );
}
