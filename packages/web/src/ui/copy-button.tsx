import { Check, Copy, type LucideIcon } from "lucide-react";
import { useEffect, useState } from "react";
import { IconButton } from "./button.tsx";
import { copyText } from "./clipboard.ts";
import { toastError } from "./toast.tsx";

/** Copies `text`, and then shows a check mark for a moment. */
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
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), 1_500);
    return () => clearTimeout(timer);
  }, [isCopied]);
  return (
    <IconButton
      size="small"
      tabIndex={tabIndex}
      icon={isCopied ? Check : icon}
      label={isCopied ? "Copied" : label}
      onClick={() => void copyText(text).then(() => setCopied(true), toastError)}
    />
  );
}
