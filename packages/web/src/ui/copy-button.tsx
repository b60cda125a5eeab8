import { Check, Copy, type LucideIcon } from "lucide-react";
import { useEffect, useState } from "react";
import { IconButton } from "./button.tsx";
import { copyText } from "./clipboard.ts";
import { toastError } from "./toast.tsx";

/** Copies `text`, and shows for a moment that it did. */
export function CopyButton({
  text,
  label = "Copy",
  icon = Copy,
  tabIndex,
}: {
  text: string;
  label?: string;
  icon?: LucideIcon;
  tabIndex?: number;
}) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1_500);
    return () => clearTimeout(timer);
  }, [copied]);
  return (
    <IconButton
      size="small"
      tabIndex={tabIndex}
      icon={copied ? Check : icon}
      label={copied ? "Copied" : label}
      onClick={() => void copyText(text).then(() => setCopied(true), toastError)}
    />
  );
}
