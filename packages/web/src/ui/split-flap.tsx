/** Shows a number as split-flap digits, like a display at a station. A digit moves when it changes. */
export function SplitFlap({ value, label }: { value: number; label: string }) {
  const digits = String(value).padStart(3, "0");
  return (
    <span className="flap" role="img" aria-label={`${value} ${label}`}>
      {[...digits].map((digit, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a digit is identified by its position
        <b key={digits.length - index}>
          {/* Another key creates a new element, which starts the animation. */}
          <span key={digit}>{digit}</span>
        </b>
      ))}
    </span>
  );
}
