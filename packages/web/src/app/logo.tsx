/** The logo of Signalbox: a railway switch, with the route lit. */
export function Logo({ size = 26 }: { size?: number }) {
  const route = "M4 18.5h5.2c2 0 2.6-1 3.4-2.6l2-4.2c.8-1.7 1.6-2.7 3.6-2.7H22";
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 26 26"
      aria-hidden="true"
      className="logo flex-none"
    >
      <rect x=".25" y=".25" width="25.5" height="25.5" rx="6" className="logo-head" />
      <path d={route} className="logo-rail" />
      <path d="M4 18.5h18" className="logo-rail" />
      <path d={route} className="logo-route" />
      <circle cx="20.2" cy="5" r="2.1" className="logo-lamp" />
    </svg>
  );
}
