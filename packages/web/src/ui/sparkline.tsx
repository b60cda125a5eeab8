/** Small bars of a series; the newest is on the right. */
import { cx } from "./cx.ts";

export function Sparkline({
  values,
  label,
  className,
}: {
  values: readonly number[];
  label: string;
  className?: string;
}) {
  const max = Math.max(1, ...values);
  const step = 5;
  return (
    <svg
      role="img"
      aria-label={label}
      width={values.length * step - 2}
      height={24}
      className={cx("flex-none text-ink-3", className)}
    >
      {values.map((value, index) => {
        const height = Math.max(1.5, (value / max) * 24);
        return (
          <rect
            // biome-ignore lint/suspicious/noArrayIndexKey: a bar is identified by its place
            key={index}
            x={index * step}
            y={24 - height}
            width={3}
            height={height}
            rx={0.5}
            fill="currentColor"
          />
        );
      })}
    </svg>
  );
}
