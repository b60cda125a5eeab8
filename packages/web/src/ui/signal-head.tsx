/** A state as a railway signal with three lamps. The colour and the position of the lit lamp show the state. */
import { cx } from "./cx.ts";

/** The colour of the lit lamp. `lunar` (white) means in progress, and `none` that no lamp is lit. */
export type Aspect = "red" | "amber" | "green" | "lunar" | "none";

export interface Signal {
  aspect: Aspect;
  /** The name of the state. */
  label: string;
}

export function SignalHead({ aspect, label }: Signal) {
  return (
    <span className={cx("sig", aspect)} role="img" aria-label={label}>
      <i />
      <i />
      <i />
    </span>
  );
}
