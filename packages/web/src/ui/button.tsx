/** Buttons, and links that look like them. */
import type { LucideIcon } from "lucide-react";
import type { ComponentProps, ReactNode } from "react";
import { Link } from "wouter";
import { cx } from "./cx.ts";

interface ButtonStyle {
  look?: "plain" | "primary" | "ghost" | "danger";
  size?: "normal" | "small";
  icon?: LucideIcon | undefined;
}

const classOf = (
  { look = "plain", size = "normal" }: ButtonStyle,
  isSquare: boolean,
  className?: string,
) =>
  cx("btn", look !== "plain" && look, size === "small" && "small", isSquare && "square", className);

export function Button({
  look,
  size,
  icon: Icon,
  busy = false,
  children,
  className,
  ...props
}: ButtonStyle & { busy?: boolean } & ComponentProps<"button">) {
  return (
    <button
      type="button"
      {...props}
      disabled={props.disabled || busy}
      aria-busy={busy || undefined}
      className={classOf({ ...(look && { look }), ...(size && { size }) }, false, className)}
    >
      {Icon && <Icon className="icon" aria-hidden />}
      {children}
    </button>
  );
}

/** A button with an icon only; `label` is its accessible name and its tooltip. */
export function IconButton({
  look = "ghost",
  size,
  icon: Icon,
  label,
  className,
  ...props
}: Omit<ButtonStyle, "icon"> & { icon: LucideIcon; label: string } & ComponentProps<"button">) {
  return (
    <button
      type="button"
      {...props}
      aria-label={label}
      title={props.title ?? label}
      className={classOf({ look, ...(size && { size }) }, true, className)}
    >
      <Icon className="icon" aria-hidden />
    </button>
  );
}

export function ButtonLink({
  look,
  size,
  icon: Icon,
  to,
  children,
}: ButtonStyle & { to: string; children: ReactNode }) {
  return (
    <Link href={to} className={classOf({ ...(look && { look }), ...(size && { size }) }, false)}>
      {Icon && <Icon className="icon" aria-hidden />}
      {children}
    </Link>
  );
}
