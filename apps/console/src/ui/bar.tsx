import type { ReactNode } from 'react';
import './bar.css';

interface BarProps {
  /** How much of it is filled, from 0 to 100. */
  readonly percent: number;
  readonly level?: 'plenty' | 'high' | 'full';
}

/** Shows a part of a whole. The text beside it says the same, so that nobody has to see it. */
export const Bar = ({ percent, level = 'plenty' }: BarProps): ReactNode => (
  <span className={`bar ${level}`} aria-hidden="true">
    <span style={{ width: `${Math.min(100, Math.max(0, percent))}%` }} />
  </span>
);
