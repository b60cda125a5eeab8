/** Returns how many of `count` items fit, at least one if there is any. `fits` is asked for few numbers. */
export function largestFitting(count: number, fits: (count: number) => boolean): number {
  if (count <= 1 || fits(count)) return count;
  let fitting = 1;
  let exceeding = count;
  while (exceeding - fitting > 1) {
    const middle = Math.floor((fitting + exceeding) / 2);
    if (fits(middle)) fitting = middle;
    else exceeding = middle;
  }
  return fitting;
}
