/** A three-lamp signal head. Position and colour both show the state. */
import { cx } from "./cx.ts";

/** lunar: under way; none: nothing is set. */
export type Aspect = "red" | "amber" | "green" | "lunar" | "none";

export function SignalHead({ aspect, label }: { aspect: Aspect; label: string }) {
  return (
    <span className={cx("sig", aspect)} role="img" aria-label={label}>
      <i />
      <i />
      <i />
    </span>
  );
}
