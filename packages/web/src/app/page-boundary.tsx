/** Shows an error of a page instead of the page, so that the navigation remains usable. */
import { Component, type ReactNode } from "react";
import { ErrorState } from "../ui/error-state.tsx";

interface Props {
  /** The current path. When the path changes, the error is cleared. */
  location: string;
  children: ReactNode;
}

export class PageBoundary extends Component<Props, { error: unknown }> {
  override state: { error: unknown } = { error: undefined };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override componentDidUpdate({ location }: Props) {
    if (location !== this.props.location && this.state.error !== undefined)
      this.setState({ error: undefined });
  }

  override render() {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    // A script that failed to load, for example after an upgrade of the hub, needs a reload: React
    // caches the failure.
    return <ErrorState error={error} onRetry={() => window.location.reload()} />;
  }
}
