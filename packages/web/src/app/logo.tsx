export function Logo({ size = 26 }: { size?: number }) {
  return <img src="/icon.svg" width={size} height={size} alt="" className="rounded-tile" />;
}
