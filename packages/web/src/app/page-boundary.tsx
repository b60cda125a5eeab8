/** Shows an error of a page in its place, so that the navigation stays usable. */
import { Component, type ReactNode } from "react";
import { ErrorState } from "../ui/error-state.tsx";

interface Props {
  /** The address. An error belongs to the address at which it occurred. */
  at: string;
  children: ReactNode;
}

export class PageBoundary extends Component<Props, { error: unknown }> {
  override state: { error: unknown } = { error: undefined };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override componentDidUpdate({ at }: Props) {
    if (at !== this.props.at && this.state.error !== undefined) this.setState({ error: undefined });
  }

  override render() {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    // React caches a script that failed to load, for example after an upgrade of the hub.
    return <ErrorState error={error} onRetry={() => location.reload()} />;
  }
}
