import { describeExceeded } from '../../limits/program-limits.ts';
import type { ProcessEnd } from '../../supervision/supervised-process.ts';

/** ` with exit code 1`, after a verb. */
export const describeEnd = (end: ProcessEnd): string => {
  if (end.kind === 'not_started') return `: it cannot be started (${end.code})`;
  if (end.kind === 'unreported') return `: ${end.why}`;
  if (end.kind === 'exceeded') return `: ${describeExceeded(end.exceeded)}`;
  return end.signal === null ? ` with exit code ${end.code ?? 0}` : ` by ${end.signal}`;
};
