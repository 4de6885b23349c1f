import type { ProcessEnd } from '../../supervision/supervised-process.ts';

/** ` with exit code 1`, after a verb. */
export const describeEnd = (end: ProcessEnd): string => {
  if (end.kind === 'not_started') return `: it cannot be started (${end.code})`;
  if (end.kind === 'unreported') return `: ${end.why}`;
  return end.signal === null ? ` with exit code ${end.code ?? 0}` : ` by ${end.signal}`;
};
