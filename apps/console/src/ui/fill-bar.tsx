import type { ReactNode } from 'react';
import { Bar } from './bar.tsx';
import { fillOf } from './fill.ts';

interface FillBarProps {
  readonly used: number;
  readonly limit: number | null;
  /** Writes an amount, such as `bytes`. */
  readonly words: (amount: number) => string;
}

const LEVELS = { plenty: '', high: ', nearly full', full: ', full' } as const;

/** What is used of a limit, as a bar and in words. */
export const FillBar = ({ used, limit, words }: FillBarProps): ReactNode => {
  const fill = fillOf(used, limit);
  if (fill === null || limit === null) return `${words(used)}, no limit`;
  return (
    <>
      <Bar {...fill} /> {words(used)} of {words(limit)} ({fill.percent}&nbsp;%{LEVELS[fill.level]})
    </>
  );
};
