/** A small bar chart. The newest value is on the right. */
import { cx } from "./cx.ts";

const HEIGHT = 24;
/** Zero is shown as a flat bar. */
const MIN_BAR_HEIGHT = 1.5;
const BAR_DISTANCE = 5;

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
  return (
    <svg
      role="img"
      aria-label={label}
      width={values.length * BAR_DISTANCE - 2}
      height={HEIGHT}
      className={cx("flex-none text-ink-3", className)}
    >
      {values.map((value, index) => {
        const height = Math.max(MIN_BAR_HEIGHT, (value / max) * HEIGHT);
        return (
          <rect
            // biome-ignore lint/suspicious/noArrayIndexKey: a bar is identified by its position
            key={index}
            x={index * BAR_DISTANCE}
            y={HEIGHT - height}
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
