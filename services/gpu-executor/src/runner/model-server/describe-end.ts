import { describeExceeded } from '../../supervision/program-limits.ts';
import type { ProcessEnd } from '../../supervision/supervised-process.ts';

/** ` with exit code 1`, after a verb. */
export const describeEnd = (end: ProcessEnd): string => {
  if (end.kind === 'not_started') return `: it cannot be started (${end.code})`;
  if (end.kind === 'unreported') return `: ${end.why}`;
  if (end.kind === 'exceeded') return `: ${describeExceeded(end.exceeded)}`;
  return end.signal === null ? ` with exit code ${end.code ?? 0}` : ` by ${end.signal}`;
};

/** Why a run failed whose server has ended: what happened is a sentence about `server`. */
export const endOfServer = (
  server: string,
  end: ProcessEnd,
  isMemoryShort: boolean,
): { readonly kind: 'out_of_memory' | 'crashed'; readonly what: string } => {
  const what = `${server} ended${describeEnd(end)}.`;
  if (end.kind === 'exceeded')
    return { kind: end.exceeded.resource === 'memory' ? 'out_of_memory' : 'crashed', what };
  return isMemoryShort
    ? { kind: 'out_of_memory', what: `${server} was killed: the machine had no memory left.` }
    : { kind: 'crashed', what };
};
