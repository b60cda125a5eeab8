/** Split-flap digits, for the number of waiting events only. */
export function SplitFlap({ value, label }: { value: number; label: string }) {
  const digits = String(value).padStart(3, "0");
  return (
    <span className="flap" role="img" aria-label={`${value} ${label}`}>
      {[...digits].map((digit, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a digit is identified by its place
        <b key={digits.length - index}>
          <span key={digit}>{digit}</span>
        </b>
      ))}
    </span>
  );
}
