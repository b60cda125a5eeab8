/** Multiples among numbers as people write them: 0.3 is one of 0.1, though not quite in binary. */

/** What is written is what counts, and it is short: the exponents are those of a double. */
export function isMultipleOf(value: number, step: number): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(step)) return value % step === 0;
  const one = readDecimal(value);
  const other = readDecimal(step);
  if (!one || !other || other.digits === 0n) return false;
  const exponent = Math.min(one.exponent, other.exponent);
  const whole = ({ digits, exponent: own }: Decimal) => digits * 10n ** BigInt(own - exponent);
  return whole(one) % whole(other) === 0n;
}

/** `digits` times ten to the `exponent`. */
interface Decimal {
  digits: bigint;
  exponent: number;
}

function readDecimal(value: number): Decimal | undefined {
  const [, whole, part = "", power = "0"] =
    /^(-?\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(value)) ?? [];
  if (whole === undefined) return undefined;
  return { digits: BigInt(whole + part), exponent: Number(power) - part.length };
}
